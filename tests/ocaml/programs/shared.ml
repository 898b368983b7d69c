(* Domains that pass young values by variables of C code, and collect nothing
   else that others could reach; Array.fill of an old array, too. *)
external start : int -> unit = "shared_begin"
external stop : int -> unit = "shared_end"
external put : int -> 'a -> unit = "shared_put"
external get : int -> 'a = "shared_get"

type item = { id : int; text : string; rest : item list }

let item id =
  { id; text = string_of_int id;
    rest = List.init 5 (fun k -> { id = k; text = string_of_int k; rest = [] }) }
let whole i =
  if i.text <> string_of_int i.id
  || List.exists (fun k -> k.text <> string_of_int k.id) i.rest then begin
    print_endline "a value is broken"; exit 1
  end

let rec garbage n kept =
  if n > 0 then garbage (n - 1) (if n land 31 = 0 then [] else item n :: kept)
  else List.iter whole kept

(* Each takes what the other has put, keeps it over some collections of its own,
   and puts another. *)
let pass put get rounds =
  for round = 1 to rounds do
    let taken : item option = get () in
    put (Some (item round));
    garbage 3000 [];
    Option.iter whole taken;
    let wrapped = Option.map (fun i -> { (item round) with rest = [ i ] }) taken in
    garbage 3000 [];
    Option.iter (fun w -> whole w; List.iter whole w.rest) wrapped
  done

let both name put get =
  let other = Domain.spawn (fun () -> pass put get 40) in
  pass put get 40;
  Domain.join other;
  Printf.printf "%s: whole\n%!" name

let () =
  Gc.set { (Gc.get ()) with minor_heap_size = 4096 };
  List.iter (fun (kind, name) ->
      put kind None; start kind;
      both name (put kind) (fun () -> get kind);
      stop kind)
    [ 0, "global root"; 1, "generational root"; 2, "hook" ];
  ignore (Thread.self ());
  put 2 None; start 2;
  both "hook beside systhreads'" (put 2) (fun () -> get 2);
  stop 2;
  let old = Array.make 1000 None in
  both "Array.fill" (fun v -> Array.fill old 0 1000 v) (fun () -> old.(999))
