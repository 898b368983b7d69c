(* What C code of the runtime allocates: bigarrays, marshalled values, channels,
   Int64, Digest, hash tables of strings, deep recursion, signals. *)
let () =
  let total = ref 0. in
  for i = 1 to 300 do
    let b = Bigarray.(Array1.create float64 c_layout 10000) in
    Bigarray.Array1.fill b (float_of_int i);
    total := !total +. b.{i}
  done;
  Printf.printf "%.0f\n" !total

type tree = Leaf | Node of tree * int * string * float * tree
let rec make n =
  if n = 0 then Leaf
  else Node (make (n - 1), n, string_of_int n, float_of_int n, make (n - 1))
let rec sum = function
  | Leaf -> 0
  | Node (l, n, s, f, r) -> sum l + n + String.length s + int_of_float f + sum r

let () =
  let t = make 14 in
  let s = Marshal.to_string t [] in
  Printf.printf "%d bytes, %s\n" (String.length s) (Digest.to_hex (Digest.string s));
  let u : tree = Marshal.from_string s 0 in
  Printf.printf "%b %d\n" (t = u) (sum u);
  let f = Marshal.to_string (fun x -> x + String.length s) [Marshal.Closures] in
  let g : int -> int = Marshal.from_string f 0 in
  Printf.printf "%d\n" (g 1);
  let name = Filename.temp_file "aliquot" ".bin" in
  let c = open_out_bin name in
  for i = 1 to 100 do output_value c (make (i mod 8)) done;
  close_out c;
  let c = open_in_bin name in
  let n = ref 0 in
  for _ = 1 to 100 do n := !n + sum (input_value c : tree) done;
  close_in c;
  Sys.remove name;
  Printf.printf "%d\n" !n

let rec deep n = if n = 0 then 0 else 1 + deep (n - 1)
let () = Printf.printf "%d\n" (deep 1_000_000)

let () =
  let hits = ref 0 in
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> incr hits));
  let pid = int_of_string (Filename.basename (try
    let c = open_in "/proc/self/stat" in
    let l = input_line c in close_in c;
    String.sub l 0 (String.index l ' ') with _ -> "0")) in
  for _ = 1 to 20 do
    ignore (Sys.command (Printf.sprintf "kill -USR1 %d" pid));
    ignore (Sys.opaque_identity (List.init 1000 Fun.id))
  done;
  Printf.printf "%b\n" (!hits > 0 && !hits <= 20)

let () =
  let a = Array.init 100000 (fun i -> Int64.of_int (i * 7919)) in
  Array.sort compare a;
  let h = Hashtbl.create 1 in
  Array.iter (fun x -> Hashtbl.replace h (Int64.rem x 1000L) x) a;
  Printf.printf "%d %Ld\n" (Hashtbl.length h) (Hashtbl.fold (fun _ x s -> Int64.add x s) h 0L)
