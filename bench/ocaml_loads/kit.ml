(* What the programs share: arguments, random numbers, the longest gap between
   two ticks, a profile if the environment asks for one.

   A tick is called between steps of equal work.  So a gap that is longer than
   the others is a pause of the collector, or of the machine: the time of the
   thread alone leaves the latter out. *)
external wall_ns : unit -> (int[@untagged])
  = "bench_wall_ns_byte" "bench_wall_ns" [@@noalloc]
external cpu_ns : unit -> (int[@untagged])
  = "bench_cpu_ns_byte" "bench_cpu_ns" [@@noalloc]

let arg i = int_of_string Sys.argv.(i)

(* xorshift *)
let state = ref 0x2545F491
let random n =
  let x = !state in
  let x = x lxor (x lsl 13) in
  let x = x lxor (x lsr 7) in
  let x = x lxor (x lsl 17) in
  state := x;
  (x land max_int) mod n

type gaps = { mutable wall : int; mutable cpu : int;
              mutable longest_wall : int; mutable longest_cpu : int }
let gaps = { wall = 0; cpu = 0; longest_wall = 0; longest_cpu = 0 }
let start () =
  gaps.wall <- wall_ns ();
  gaps.cpu <- cpu_ns ()
let tick () =
  let wall = wall_ns () and cpu = cpu_ns () in
  if wall - gaps.wall > gaps.longest_wall then
    gaps.longest_wall <- wall - gaps.wall;
  if cpu - gaps.cpu > gaps.longest_cpu then gaps.longest_cpu <- cpu - gaps.cpu;
  gaps.wall <- wall;
  gaps.cpu <- cpu
let print_gaps () =
  Printf.printf "longest us wall %.1f cpu %.1f\n"
    (float gaps.longest_wall /. 1e3) (float gaps.longest_cpu /. 1e3)

(* BENCH_RATE: each sampled block is tracked to its death, as memtrace does. *)
let () =
  match Sys.getenv_opt "BENCH_RATE" with
  | None -> ()
  | Some rate ->
    let died = ref 0 and told = ref 0 in
    let alloc (a : Gc.Memprof.allocation) =
      told := !told + a.n_samples; Some a.size in
    (match
       Gc.Memprof.start ~sampling_rate:(float_of_string rate)
         ~callstack_size:10
         { alloc_minor = alloc; alloc_major = alloc;
           promote = (fun size -> Some size);
           dealloc_minor = (fun _ -> incr died);
           dealloc_major = (fun _ -> incr died) }
     with
     | exception Failure text ->
       print_endline ("not run: " ^ text);
       exit 0
     | _ ->
       at_exit (fun () ->
           Gc.Memprof.stop ();
           Printf.eprintf "samples %d died %d\n" !told !died))
