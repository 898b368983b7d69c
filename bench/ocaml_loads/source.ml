(* source FUNCTIONS -- prints a long OCaml module for a compiler to compile *)
let () =
  print_string
    "type t = A of int | B of t * t | C of string | D of (int * t) list\n";
  for i = 1 to Kit.arg 1 do
    Printf.printf
      "let rec f%d x n = match x with\n\
      \  | A k when k > n -> B (A (k - %d), C (string_of_int n))\n\
      \  | A k -> D [ (k, x); (n, A (k * %d + n)) ]\n\
      \  | B (A a, B (A b, r)) -> f%d (B (A (a + b), r)) (n - 1)\n\
      \  | B (l, r) -> let l = f%d l n and r = f%d r (n + 1) in B (r, l)\n\
      \  | C s -> if String.length s > %d then C (s ^ \"x\") else A n\n\
      \  | D l -> D (List.map (fun (i, t) -> (i + n, f%d t i)) l)\n\
       let g%d a = Array.fold_left (fun s x ->\n\
      \  let y = f%d x s in match y with A n -> n + s | _ -> s + %d) 0 a\n"
      i i i i i (max 1 (i - 1)) (i mod 9) i i i i
  done
