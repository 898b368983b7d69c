(* words VOCABULARY WORDS -- Hashtbl and strings: words are made, counted,
   joined to lines, split and counted by length; some keys are removed again *)
let word n =
  let b = Buffer.create 16 in
  let rec go n =
    Buffer.add_char b (Char.chr (97 + n mod 26));
    if n >= 26 then go (n / 26) in
  go (n * 7919 + 1);
  Buffer.contents b

let () =
  let vocabulary = Kit.arg 1 and words = Kit.arg 2 in
  let counts : (string, int ref) Hashtbl.t = Hashtbl.create 16 in
  let lengths = Hashtbl.create 16 in
  let line = ref [] and sum = ref 0 in
  for i = 1 to words do
    let w = word (Kit.random (1 + Kit.random vocabulary)) in
    (match Hashtbl.find_opt counts w with
     | Some n -> incr n
     | None -> Hashtbl.add counts w (ref 1));
    line := w :: !line;
    if i land 15 = 0 then begin
      let text = String.concat " " !line in
      line := [];
      sum := !sum + Hashtbl.hash text;
      List.iter (fun w ->
          let n = String.length w in
          Hashtbl.replace lengths n
            (1 + Option.value ~default:0 (Hashtbl.find_opt lengths n)))
        (String.split_on_char ' ' (String.uppercase_ascii text));
      if i land 255 = 0 then
        Hashtbl.remove counts (word (Kit.random vocabulary));
      if i land 1023 = 0 then
        sum := !sum + String.length (Printf.sprintf "%d %s %f" i text 1.5)
    end
  done;
  Printf.printf "distinct %d sum %d lengths %d\n" (Hashtbl.length counts) !sum
    (Hashtbl.length lengths)
