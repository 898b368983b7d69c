(* splay NODES OPERATIONS -- a self-adjusting tree whose nodes carry small
   trees; each operation takes the smallest key above a random one out and puts
   a new one in *)
type payload = Numbers of int array | Pair of payload * payload
type tree =
  | Empty
  | Node of { mutable left : tree; mutable right : tree; key : int;
              payload : payload }

let rec payload depth key =
  if depth = 0 then Numbers [| 0; 1; 2; 3; 4; 5; 6; 7; 8; 9; key |]
  else
    let l = payload (depth - 1) key in
    Pair (l, payload (depth - 1) key)

let rotate_right t = match t with
  | Node ({ left = Node l as y; _ } as x) ->
    x.left <- l.right; l.right <- t; y
  | _ -> t
let rotate_left t = match t with
  | Node ({ right = Node r as y; _ } as x) ->
    x.right <- r.left; r.left <- t; y
  | _ -> t

(* The node of the key, or the last one on the way to it, becomes the root. *)
let rec splay key t = match t with
  | Empty -> Empty
  | Node x when key < x.key ->
    (match x.left with
     | Empty -> t
     | Node y ->
       if key < y.key then begin
         y.left <- splay key y.left;
         let t = rotate_right t in
         rotate_right t
       end else begin
         if key > y.key then begin
           y.right <- splay key y.right;
           if y.right != Empty then x.left <- rotate_left x.left
         end;
         rotate_right t
       end)
  | Node x when key > x.key ->
    (match x.right with
     | Empty -> t
     | Node y ->
       if key > y.key then begin
         y.right <- splay key y.right;
         let t = rotate_left t in
         rotate_left t
       end else begin
         if key < y.key then begin
           y.left <- splay key y.left;
           if y.left != Empty then x.right <- rotate_right x.right
         end;
         rotate_left t
       end)
  | Node _ -> t

let insert key t =
  let payload = payload 3 key in
  match splay key t with
  | Empty -> Node { left = Empty; right = Empty; key; payload }
  | Node x as t when x.key < key ->
    let right = x.right in
    x.right <- Empty;
    Node { left = t; right; key; payload }
  | Node x as t ->
    let left = x.left in
    x.left <- Empty;
    Node { left; right = t; key; payload }

let remove_root = function
  | Empty -> Empty
  | Node { left = Empty; right; _ } -> right
  | Node x ->
    (match splay max_int x.left with
     | Node y as t -> y.right <- x.right; t
     | Empty -> x.right)

let () =
  let nodes = Kit.arg 1 and operations = Kit.arg 2 in
  let key () = Kit.random (1 lsl 50) in
  let t = ref Empty in
  for _ = 1 to nodes do t := insert (key ()) !t done;
  Kit.start ();
  for i = 1 to operations do
    t := insert (key ()) !t;
    t := remove_root (splay (key ()) !t);
    if i land 15 = 0 then Kit.tick ()
  done;
  (match !t with
   | Node { key; _ } -> Printf.printf "root %d\n" key
   | Empty -> ());
  Kit.print_gaps ()
