(* Weak arrays, ephemerons, finalisers. *)
let () =
  let w = Weak.create 100 in
  let strong = Array.init 50 (fun i -> ref i) in
  Array.iteri (fun i r -> Weak.set w i (Some r)) strong;
  for i = 50 to 99 do Weak.set w i (Some (ref i)) done;
  Gc.full_major ();
  let full = ref 0 in
  for i = 0 to 99 do if Weak.check w i then incr full done;
  Printf.printf "%d full, length %d\n" !full (Weak.length w);
  (match Weak.get w 7 with Some r -> Printf.printf "get %d\n" !r | None -> ());
  (match Weak.get_copy w 8 with Some r -> Printf.printf "copy %d\n" !r | None -> ());
  Weak.blit w 0 w 60 10;
  Printf.printf "blit %b\n" (Weak.check w 65);
  (try ignore (Weak.get w 100) with Invalid_argument s -> print_endline s);
  Printf.printf "%d\n" !(strong.(3))

module H = Ephemeron.K1.Make (struct
  type t = int ref
  let equal = ( == )
  let hash r = Hashtbl.hash !r
end)

let () =
  let h = H.create 16 in
  let keys = Array.init 100 (fun i -> ref i) in
  Array.iteri (fun i k -> H.add h k (string_of_int i)) keys;
  for i = 1000 to 1999 do H.add h (ref i) "lost" done;
  Gc.full_major ();
  H.clean h;
  Printf.printf "%d bindings, 42 is %s\n" (H.length h) (H.find h keys.(42))

let () =
  let order = Buffer.create 100 in
  let note s () = Buffer.add_string order s in
  let make s = Gc.finalise (fun r -> note (s ^ string_of_int !r) ()) (ref 1) in
  make "a"; make "b"; make "c";
  let v = ref 5 in
  Gc.finalise_last (note "last") v;
  Printf.printf "%d\n" !v;
  Gc.full_major ();
  print_endline (Buffer.contents order);
  Gc.finalise (fun _ -> failwith "from a finaliser") (ref 3);
  (try Gc.full_major (); print_endline "not raised"
   with Failure s -> print_endline s);
  (try Gc.finalise ignore 3 with Invalid_argument s -> print_endline s)

module W = Weak.Make (struct
  type t = string
  let equal = String.equal
  let hash = Hashtbl.hash
end)

let () =
  let w = W.create 10 in
  let kept = List.init 1000 (fun i -> W.merge w (string_of_int (i mod 300))) in
  Gc.full_major ();
  Printf.printf "%d strings, %b\n" (W.count w)
    (List.for_all (fun s -> W.mem w s) kept)
