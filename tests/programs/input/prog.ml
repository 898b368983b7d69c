module M = Map.Make (String)
let rec count m = match input_line stdin with
  | w -> count (M.update w (function None -> Some 1 | Some n -> Some (n + 1)) m)
  | exception End_of_file -> m
let () = Printf.printf "%d words\n" (M.cardinal (count M.empty))
