(* As samples.c. *)
let n = int_of_string Sys.argv.(1)
let depth = int_of_string Sys.argv.(2)
type two = { mutable a : int; mutable b : int }

let[@inline never] blocks () =
  for i = 1 to n do ignore (Sys.opaque_identity { a = i; b = 0 }) done

let[@inline never] rec deeper k =
  if k > 0 then 1 + deeper (k - 1) else (blocks (); 0)

let () = ignore (Sys.opaque_identity (deeper depth))
