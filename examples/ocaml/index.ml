(* index.ml -- an index of words in memory: a program to look at

   It reads lines, indexes their words, and answers queries.  Each query may
   allocate so many words and take so long, and no more: a task with limits, of
   the library aliquot.  The index forgets lines that are old, but for a cache
   that never forgets: a leak, which the program's own profile and a trace both
   show.

   usage: index LINES QUERIES *)
module L = Aliquot.Limits
module MP = Gc.Memprof

(* ---- the index -------------------------------------------------------------- *)

let lines : (int, string) Hashtbl.t = Hashtbl.create 1024
let places : (string, int list) Hashtbl.t = Hashtbl.create 1024
let cache : (string, string list) Hashtbl.t = Hashtbl.create 1024
let kept_lines = 20_000

let forget n =
  match Hashtbl.find_opt lines n with
  | None -> ()
  | Some line ->
    Hashtbl.remove lines n;
    List.iter (fun word ->
        match Hashtbl.find_opt places word with
        | None -> ()
        | Some ns -> Hashtbl.replace places word (List.filter (( <> ) n) ns))
      (String.split_on_char ' ' line)

let add n line =
  Hashtbl.replace lines n line;
  List.iter (fun word ->
      let ns = Option.value ~default:[] (Hashtbl.find_opt places word) in
      if List.length ns < 50 then Hashtbl.replace places word (n :: ns))
    (String.split_on_char ' ' line);
  forget (n - kept_lines)

(* The lines that have the words; "*" is every line. *)
let query words =
  let key = String.concat " " words in
  let found =
    if words = [ "*" ] then Hashtbl.fold (fun _ l all -> l :: all) lines []
    else
      List.concat_map (fun w ->
          List.filter_map (Hashtbl.find_opt lines)
            (Option.value ~default:[] (Hashtbl.find_opt places w)))
        words in
  (* The cache outlives a query that is stopped. *)
  let answer = List.map String.uppercase_ascii found in
  L.Masking.masked (Hashtbl.replace cache key) answer;
  List.length found

(* ---- limits ------------------------------------------------------------------ *)

(* So many words, exactly, and so many seconds; None: that was not enough. *)
let within words seconds f =
  Result.to_option (L.run ~words ~time:seconds f).result

(* ---- the program's own profile ------------------------------------------------ *)

let rate = 1e-3

let live : (string, float) Hashtbl.t = Hashtbl.create 64

let site (a : MP.allocation) =
  let mine slot =
    match Printexc.Slot.location slot with
    | Some l when l.filename = "index.ml" -> Printexc.Slot.name slot
    | _ -> None in
  match Printexc.backtrace_slots a.callstack with
  | None -> "?"
  | Some slots ->
    Option.value ~default:"?" (List.find_map mine (Array.to_list slots))

let grow site by =
  let was = Option.value ~default:0. (Hashtbl.find_opt live site) in
  Hashtbl.replace live site (was +. by)

let alloc (a : MP.allocation) =
  let s = site a and words = float_of_int a.n_samples /. rate in
  grow s words;
  Some (s, words)

let free (s, words) = grow s (-.words)

let tracker =
  { MP.alloc_minor = alloc; alloc_major = alloc; promote = Option.some;
    dealloc_minor = free; dealloc_major = free }

let report () =
  Gc.full_major ();
  Hashtbl.fold (fun s w all -> (w, s) :: all) live []
  |> List.sort compare |> List.rev
  |> List.filteri (fun i _ -> i < 4)
  |> List.iter (fun (w, s) -> Printf.printf "  %6.1f MiB live from %s\n"
                   (w *. 8. /. 1048576.) s)

(* ---- the whole ----------------------------------------------------------------- *)

let word i = "w" ^ string_of_int (i * 7919 mod 5003)
let line n = String.concat " " (List.init 12 (fun i -> word ((n * 12) + i)))

let () =
  let n_lines = int_of_string Sys.argv.(1) in
  let n_queries = int_of_string Sys.argv.(2) in
  let profile = MP.start ~sampling_rate:rate tracker in
  let answered = ref 0 and stopped = ref 0 in
  for n = 1 to n_lines do
    add n (line n);
    if n mod (max 1 (n_lines / n_queries)) = 0 then
      let q = !answered + !stopped in
      let words = if q mod 10 = 9 then [ "*" ] else [ word n; word (n + 1) ] in
      match within 50_000 1. (fun () -> query words) with
      | Some _ -> incr answered
      | None -> incr stopped
  done;
  MP.stop ();
  Printf.printf "%d lines, %d queries answered, %d stopped at 50,000 words\n"
    n_lines !answered !stopped;
  report ();
  MP.discard profile
