(* Threads of one domain, which allocate, block, and wait for each other. *)
let m = Mutex.create ()
let c = Condition.create ()
let sum = ref 0

let work n () =
  let rec build k = if k = 0 then [] else string_of_int k :: build (k - 1) in
  for i = 1 to 50 do
    let l = build (i * n) in
    if i mod 10 = 0 then Thread.yield ();
    if i mod 25 = 0 then Thread.delay 0.001;
    Mutex.lock m;
    sum := !sum + List.length l;
    Condition.signal c;
    Mutex.unlock m
  done

let () =
  let threads = List.init 8 (fun i -> Thread.create (work (i + 1)) ()) in
  Mutex.lock m;
  while !sum < 1000 do Condition.wait c m done;
  Mutex.unlock m;
  List.iter Thread.join threads;
  Gc.full_major ();
  Printf.printf "%d\n" !sum;
  match Unix.fork () with
  | 0 ->
    ignore (Sys.opaque_identity (List.init 100000 string_of_int));
    Gc.full_major ();
    exit 3
  | pid ->
    (match Unix.waitpid [] pid with
     | _, Unix.WEXITED n -> Printf.printf "child %d\n" n
     | _ -> print_endline "child died")

(* Blocking sections that begin while the tick wants a switch: no poll lies
   between two of them. *)
let () =
  let t = Thread.create Thread.delay 1. in
  for _ = 1 to 100 do
    Unix.sleepf 0.001; Unix.sleepf 0.001; Unix.sleepf 0.001; Unix.sleepf 0.001;
    Unix.sleepf 0.001; Unix.sleepf 0.001; Unix.sleepf 0.001; Unix.sleepf 0.001
  done;
  Thread.join t;
  print_endline "blocked while a switch was due"
