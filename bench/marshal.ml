(* marshal.ml -- OCaml's own Marshal, timed beside ours

     ocaml marshal.ml DIR make      writes DIR/NAME.ocaml
     ocaml marshal.ml DIR ROUNDS    prints what bench/marshal.c prints *)

let rec tree depth =
  if depth = 0 then `Leaf depth else `Node (tree (depth - 1), tree (depth - 1))

let makers = [
  "tree", (fun () -> Obj.repr (tree 19));
  "pairs", (fun () -> Obj.repr (List.init 300_000 (fun i -> (i, i * 1000))));
  "strings", (fun () -> Obj.repr (List.init 300_000 string_of_int));
  "integers", (fun () -> Obj.repr (Array.init 3_000_000 (fun i -> i * 7)));
  "floats", (fun () -> Obj.repr (Array.init 1_000_000 float));
  "text", (fun () -> Obj.repr (List.init 3_000 (fun i -> String.make 10_000 'x')));
]

let read path =
  let c = open_in_bin path in
  let s = really_input_string c (in_channel_length c) in
  close_in c;
  s

let time best f =
  let start = Sys.time () in
  let x = f () in
  best := min !best (Sys.time () -. start);
  x

let measure dir rounds (name, _) =
  let bytes = read (Filename.concat dir (name ^ ".ocaml")) in
  let write_s = ref infinity and read_s = ref infinity in
  for _ = 1 to rounds do
    let v : Obj.t = time read_s (fun () -> Marshal.from_string bytes 0) in
    ignore (time write_s (fun () -> Marshal.to_string v []))
  done;
  Printf.printf "%s %d %.6f %.6f\n" name (String.length bytes) !write_s !read_s

let () =
  let dir = Sys.argv.(1) in
  if Sys.argv.(2) = "make" then
    List.iter (fun (name, f) ->
        let c = open_out_bin (Filename.concat dir (name ^ ".ocaml")) in
        Marshal.to_channel c (f ()) [];
        close_out c) makers
  else List.iter (measure dir (int_of_string Sys.argv.(2))) makers
