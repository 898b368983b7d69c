(* Values that point into a closure: as keys and data of ephemerons, in weak
   arrays, with finalisers, copied. *)
let pair n =
  let rec f x = if x = 0 then n else g (x - 1)
  and g x = if x = 0 then -n else f (x - 1) in
  (f, g)

let second n = snd (pair (Sys.opaque_identity n))

let weak = Weak.create 100
let ephes = Array.init 100 (fun _ -> Ephemeron.K1.make (second 0) (ref (second 0)))
let held = Array.make 100 (second 0)
let finalised = ref 0

let fill () =
  for i = 0 to 99 do
    let g = second (i + 1) in
    Weak.set weak i (Some g);
    ephes.(i) <- Ephemeron.K1.make g (ref (fst (pair i)));
    if i mod 2 = 0 then held.(i) <- g;
    Gc.finalise (fun h -> finalised := !finalised + h 0) g
  done

let count () =
  let n = ref 0 and sum = ref 0 in
  for i = 0 to 99 do
    (match Weak.get weak i with
     | Some g -> incr n; sum := !sum + g 0
     | None -> ());
    (match Weak.get_copy weak i with
     | Some g -> sum := !sum + g 1
     | None -> ());
    match Ephemeron.K1.query ephes.(i) held.(i) with
    | Some f -> sum := !sum + !f 0
    | None -> ()
  done;
  Printf.printf "%d live, sum %d, finalised %d\n" !n !sum !finalised

let () =
  Gc.full_major ();
  fill ();
  Gc.minor ();
  count ();
  Gc.full_major ();
  Gc.full_major ();
  count ();
  Gc.compact ();
  count ();
  Array.fill held 0 100 (second 0);
  Gc.full_major ();
  Gc.full_major ();
  count ()

(* Data that only an ephemeron leads to, through an infix pointer. *)
let () =
  let key = ref 1 in
  let e = Ephemeron.K1.make key (second 7) in
  for _ = 1 to 3 do
    Gc.full_major ();
    ignore (Sys.opaque_identity (Array.init 1000 string_of_int))
  done;
  match Ephemeron.K1.query e key with
  | Some g -> Printf.printf "data %d\n" (g 0 + !key)
  | None -> print_endline "data lost"

(* One lock a cache line. *)
let () =
  let a = Array.init 50 Atomic.make_contended in
  Gc.full_major ();
  Array.iteri (fun i x -> assert (Atomic.get x = i)) a;
  print_endline "contended"
