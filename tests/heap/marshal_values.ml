(* marshal_values.ml -- the judge of messages is OCaml itself

     ocaml marshal_values.ml write DIR    a file DIR/NAME.ocaml for each value
     ocaml marshal_values.ml check DIR    DIR/NAME.alq, the same value as written
                                          by Aliquot, is read by OCaml; what it
                                          read is written again and must be the
                                          bytes of NAME.ocaml, so that sharing
                                          and cycles are compared, too *)

let v x = Obj.repr x

let rec tree depth =
  if depth = 0 then `Leaf (Random.int 1000)
  else
    let l = tree (depth - 1) in
    if Random.int 4 = 0 then `Twice (l, l) else `Node (l, tree (depth - 1))

let rec cycle = 1 :: 2 :: cycle
type ring = { mutable next : ring option; name : string }

let ring () =
  let a = { next = None; name = "a" } in
  let b = { next = Some a; name = "b" } in
  a.next <- Some b;
  a

let far () =
  let first = "shared" in
  let all = Array.init 70000 (fun i -> string_of_int i) in
  [ v first; v all; v first; v all.(100) ]

let table () =
  let t = Hashtbl.create 16 in
  for i = 0 to 5000 do Hashtbl.add t (string_of_int i) (float i) done;
  t

module M = Map.Make (String)

let map () =
  let rec go i m = if i = 0 then m else go (i - 1) (M.add (string_of_int i) i m)
  in go 2000 M.empty

let integers =
  let rec powers i = if i = 63 then [] else
    let p = 1 lsl i in p :: (p - 1) :: (-p) :: (-p - 1) :: powers (i + 1) in
  0 :: max_int :: min_int :: powers 0

let forced =
  let l = lazy (float_of_string "1.5") in
  ignore (Lazy.force l);
  l

let rec left n acc = if n = 0 then acc else left (n - 1) (v (acc, n))

(* name, value, flags; "plain" is how Aliquot writes it, too *)
let values () =
  Random.init 4;
  let plain = [
    "unit", v ();
    "integers", v integers;
    "strings", v (List.init 600 (fun i -> String.make i 'x'));
    "long-string", v (String.make ((1 lsl 24) + 5) 'y');
    "floats", v [ 0.; -0.; 1.5; infinity; neg_infinity; 1e-310; max_float ];
    "nan", v nan;
    "float-arrays",
      v (List.init 300 (fun i -> Array.init i (fun k -> float k /. 3.)));
    "float-record", v { Complex.re = 1.; im = 2. };
    "long-array", v (Array.make 4_200_000 7);
    "tags", v (List.init 246 (fun t -> Obj.new_block t (1 + t mod 10)));
    "atoms", v [| v [||]; v "x"; v [||] |];
    "int32", v [ 0l; 1l; -1l; Int32.max_int; Int32.min_int ];
    "int64", v [ 0L; 1L; -1L; Int64.max_int; Int64.min_int ];
    "nativeint", v [ 0n; -1n; 0x7FFFFFFFn; 0x80000000n; Nativeint.min_int ];
    "tree", v (tree 12);
    "cycle", v cycle;
    "ring", v (ring ());
    "far", v (far ());
    "table", v (table ());
    "map", v (map ());
    "forced", v forced;
    "deep", left 300_000 (v 0);
    "list", v (List.init 300_000 (fun i -> (i, string_of_int i)));
  ] in
  let string = "one string" in
  let pair = (string, string) in
  List.map (fun (name, x) -> (name, x, [])) plain
  @ [ "nosharing", v (pair, pair, [ 1; 2 ], 2.5), [ Marshal.No_sharing ];
      "nosharing-tree", v (tree 8), [ Marshal.No_sharing ];
      "compat", v (integers |> List.filter (fun i -> i >= -(1 lsl 30) && i < 1 lsl 30), pair),
      [ Marshal.Compat_32 ];
      "bad-closure", v (fun x -> x + 1), [ Marshal.Closures ];
      "bad-bigarray",
      v (Bigarray.Array1.create Bigarray.char Bigarray.c_layout 10), [] ]

let read path =
  let c = open_in_bin path in
  let s = really_input_string c (in_channel_length c) in
  close_in c;
  s

let write dir (name, x, flags) =
  let c = open_out_bin (Filename.concat dir (name ^ ".ocaml")) in
  Marshal.to_channel c x flags;
  close_out c

let failed = ref 0

let check dir (name, _, flags) =
  if String.length name < 4 || String.sub name 0 4 <> "bad-" then begin
    let path = Filename.concat dir name in
    let x : Obj.t = Marshal.from_string (read (path ^ ".alq")) 0 in
    let same = Marshal.to_string x flags = read (path ^ ".ocaml") in
    Printf.printf "%-16s %s\n" name (if same then "ok" else "OTHER VALUE");
    if not same then incr failed
  end

let () =
  let dir = Sys.argv.(2) in
  List.iter (if Sys.argv.(1) = "write" then write dir else check dir)
    (values ());
  exit !failed
