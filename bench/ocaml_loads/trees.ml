(* trees DEPTH DOMAINS -- binary trees, short-lived ones beside one that stays;
   the domains share the work *)
type tree = Leaf | Node of tree * tree

(* Opaque: a constant node would be a static block. *)
let rec make depth =
  if depth = 0 then Node (Sys.opaque_identity Leaf, Leaf)
  else
    let l = make (depth - 1) in
    Node (l, make (depth - 1))

let rec count = function Leaf -> 0 | Node (l, r) -> 1 + count l + count r

let () =
  let depth = Kit.arg 1 and domains = Kit.arg 2 in
  let stays = make depth in
  let part () =
    let sum = ref 0 and d = ref 4 in
    while !d <= depth do
      for _ = 1 to (1 lsl (depth - !d + 4)) / domains do
        sum := !sum + count (make !d)
      done;
      d := !d + 2
    done;
    !sum in
  let others = List.init (domains - 1) (fun _ -> Domain.spawn part) in
  let sum = part () in
  let sum = List.fold_left (fun s d -> s + Domain.join d) sum others in
  Printf.printf "short %d stays %d\n" sum (count stays)
