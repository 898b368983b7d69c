(* Blocks that values of a module hold, for a snapshot of a running program:
   it waits until there is a file `go`. *)

type tree = Leaf | Node of tree * int * tree

let rec build n =
  if n = 0 then Leaf else Node (build (n - 1), n, build (n - 1))

let cache : (int, string) Hashtbl.t = Hashtbl.create 16
let log : string list ref = ref []
let tree = ref Leaf

let () =
  for i = 1 to 5000 do
    Hashtbl.replace cache i (String.make 100 'c')
  done;
  for _ = 1 to 20000 do
    log := String.make 24 'l' :: !log
  done;
  tree := build 12;
  print_endline "ready";
  while not (Sys.file_exists "go") do
    ignore (Sys.opaque_identity (ref (Sys.opaque_identity 1)));
    Unix.sleepf 0.001
  done;
  let rec depth = function
    | Leaf -> 0
    | Node (l, _, r) -> 1 + max (depth l) (depth r)
  in
  Printf.printf "%d %d %d\n" (Hashtbl.length cache) (List.length !log)
    (depth !tree)
