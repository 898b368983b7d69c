(* latency SESSIONS REQUESTS -- a server: sessions live in a table, each request
   replaces a few of them and answers from short-lived data.  The longest gap
   between two requests is the pause. *)
type session = { id : int; user : string; history : entry list }
and entry = { what : int; at : int; next : entry option }

let rec entries n at =
  if n = 0 then [] else { what = n; at; next = None } :: entries (n - 1) at
let session i at =
  { id = i; user = string_of_int i; history = entries (1 + Kit.random 8) at }

let () =
  let n = Kit.arg 1 and requests = Kit.arg 2 in
  let table = Array.init ((n + 255) / 256) (fun i ->
      Array.init 256 (fun k -> session ((i * 256) + k) 0)) in
  let n = Array.length table * 256 and sum = ref 0 in
  Kit.start ();
  for r = 1 to requests do
    for _ = 1 to 8 do
      let i = Kit.random n in
      table.(i / 256).(i mod 256) <- session i r
    done;
    let s = table.(Kit.random n / 256).(r land 255) in
    let answer = List.map (fun e -> (e.what, e.at)) s.history in
    sum := !sum + List.fold_left (fun n (w, a) -> n + w + a) s.id
                    (List.concat_map (fun x -> [ x; x; x ]) answer);
    Kit.tick ()
  done;
  Printf.printf "sum %d\n" !sum;
  Kit.print_gaps ()
