(* Limits on tasks, each kind, and what a task may do meanwhile. It says what is
   in limits.expected. *)
module L = Aliquot.Limits
module T = L.Token
module M = L.Masking

let say fmt = Printf.printf (fmt ^^ "\n%!")

(* Two words each. *)
let blocks n =
  for i = 1 to n do ignore (Sys.opaque_identity (ref i)) done

(* Allocates until it is stopped. *)
let rec for_ever () = blocks 1000; for_ever ()

(* The same without a block. *)
let spin () =
  let n = ref 0 in
  while true do n := Sys.opaque_identity (!n + 1) done

let cause (o : _ L.outcome) =
  match o.cause with
  | None -> "none"
  | Some L.Words -> "words"
  | Some L.Sampled_words -> "sampled words"
  | Some L.Heap -> "heap"
  | Some L.Time -> "time"
  | Some L.Cpu -> "cpu"
  | Some L.Polls -> "polls"
  | Some L.Token_set -> "token"
  | Some L.Live_words -> "live words"

let result = function
  | Ok _ -> "ok"
  | Error L.Reached -> "reached"
  | Error e -> Printexc.to_string e

let show name (o : _ L.outcome) =
  say "%s: %s, %s" name (result o.result) (cause o)

(* ---- exact words ------------------------------------------------------------- *)

let words () =
  let o = L.run (fun () -> blocks 1000) in
  say "1000 blocks: %d words, %s" o.words (cause o);
  (* The block that would pass the limit is not made. *)
  let made = ref 0 in
  let count () =
    while true do
      ignore (Sys.opaque_identity (ref 0));
      incr made
    done in
  List.iter (fun words ->
      made := 0;
      let o = L.run ~words count in
      say "limit of %d words: %d blocks, %d words, %s" words !made o.words
        (cause o))
    [ 0; 1; 2; 3; 1000; 1_000_001; 3_000_000 ];
  made := 0;
  show "as many as the limit" (L.run ~words:2000 (fun () -> blocks 1000));
  (* Large blocks are made by C code: they count, and are noticed after. *)
  let o = L.run ~words:10_000 (fun () ->
      for _ = 1 to 100 do
        ignore (Sys.opaque_identity (Bytes.create 79_000));
        incr made
      done) in
  say "large: %s, %d made" (cause o) !made;
  let o = L.run (fun () -> ignore (Sys.opaque_identity (Array.make 1000 0))) in
  say "an array of 1000: %d words" o.words;
  (* Small blocks of C code, and a loop that only polls. *)
  let o = L.run ~words:10_000 (fun () ->
      let s = "a string that is copied" in
      while true do ignore (Sys.opaque_identity (Bytes.of_string s)) done) in
  show "copied" o;
  let o = L.run ~words:10_000 (fun () ->
      while true do ignore (Marshal.from_string "\x84\x95\xa6\xbe\x00\x00\x00\x06\x00\x00\x00\x02\x00\x00\x00\x05\x00\x00\x00\x04\xa0\x41\xa0\x42\xa0\x43" 0) done) in
  show "unmarshalled" o;
  List.iter (fun f ->
      match f () with
      | _ -> say "not refused"
      | exception Invalid_argument s -> say "%s" s)
    [ (fun () -> L.run ~words:(-1) ignore);
      (fun () -> L.run ~time:Float.nan ignore);
      (fun () -> L.run ~again:(L.After (-1)) ignore) ]

(* ---- the other kinds ---------------------------------------------------------- *)

let kinds () =
  show "sampled" (L.run ~sampled_words:100_000 ~seed:1 for_ever);
  let seeded () = (L.run ~sampled_words:100_000 ~seed:7 for_ever).words in
  let first = seeded () in
  say "the same block: %b" (first = seeded ());
  show "outside" (L.run ~sampled_words:100_000 (fun () ->
      while true do
        ignore (Sys.opaque_identity
                  (Bigarray.(Array1.create char c_layout 100_000)))
      done));
  let keep = ref [] in
  let hoard () = while true do keep := Array.make 100 0 :: !keep done in
  let o = L.run ~live_words:200_000 hoard in
  show "live" o;
  say "about: %b" (o.live_words > 150_000 && o.live_words < 300_000);
  keep := [];
  show "dead ones do not count"
    (L.run ~live_words:200_000 (fun () -> blocks 2_000_000));
  let o = L.run ~heap_bytes:((Gc.quick_stat ()).heap_words * 8 + 20_000_000)
      hoard in
  show "heap" o;
  keep := [];
  Gc.compact ();
  let o = L.run ~time:0.05 for_ever in
  show "time" o;
  say "in time: %b" (o.time >= 0.05 && o.time < 5.);
  show "time without a block" (L.run ~time:0.05 spin);
  let o = L.run ~cpu:0.05 spin in
  show "cpu" o;
  say "so much: %b" (o.cpu >= 0.05);
  show "no time" (L.run ~time:10. (fun () -> blocks 10));
  show "polls" (L.run ~polls:100 for_ever);
  let o = L.run ~time:0.01 (fun () -> Unix.sleepf 0.05) in
  show "asleep" o;
  let called = ref false in
  let token = T.create () in
  say "set: %b" (T.is_set token);
  T.set token;
  say "set: %b" (T.is_set token);
  show "token" (L.run ~token (fun () -> called := true));
  say "called: %b" !called;
  let token = T.create () in
  show "set by itself" (L.run ~token (fun () -> T.set token; for_ever ()));
  let token = T.create () in
  show "set at the end" (L.run ~token (fun () -> T.set token))

(* ---- exceptions ----------------------------------------------------------------- *)

exception Mine

let exceptions () =
  (match L.run ~words:1000 (fun () -> raise Mine) with
   | _ -> say "not raised"
   | exception Mine -> say "its own passes");
  (* Swallowed: the result does not count. *)
  show "swallowed" (L.run ~words:1000 (fun () ->
      try for_ever () with _ -> ()));
  show "replaced" (L.run ~words:1000 (fun () ->
      try for_ever () with _ -> raise Mine));
  let again again =
    let n = ref 0 and at = ref [] in
    let o = L.run ~words:1000 ~again (fun () ->
        for _ = 1 to 5 do
          try for_ever () with _ -> incr n;
            at := Sys.opaque_identity !n :: !at
        done) in
    !n, (o.words : int) in
  let n, words = again (L.After 10_000) in
  say "again after 10000: %d times, %d thousand words" n (words / 1000);
  let n, words = again L.Next_sample in
  say "again at samples: %d times, enough: %b" n (words > 2_000);
  let n, _ = again L.Each in
  say "again each time: %d" n;
  (* A clean-up that allocates. *)
  let cleaned = ref 0 in
  show "cleaned up" (L.run ~words:1000 (fun () ->
      Fun.protect for_ever ~finally:(fun () ->
          cleaned := List.length (List.init 100 Fun.id))));
  say "whole: %d" !cleaned;
  say "interrupted: %b" (L.is_interrupted ());
  ignore (L.run ~words:1000 (fun () ->
      say "interrupted: %b" (L.is_interrupted ());
      (try for_ever () with _ -> ());
      say "interrupted: %b" (L.is_interrupted ())));
  say "interrupted: %b" (L.is_interrupted ());
  (* The program goes on after it. *)
  blocks 1_000_000;
  let o = L.run ~words:1000 (fun () -> Effect.perform (Obj.magic 0)) in
  ignore o

let exceptions () =
  match exceptions () with
  | () -> say "no handler"
  | exception Effect.Unhandled _ -> say "an effect does not cross"

(* ---- nesting ----------------------------------------------------------------------- *)

let nesting () =
  let inner = ref "" in
  let o = L.run ~words:100_000 (fun () ->
      let i = L.run ~words:1000 for_ever in
      inner := result i.result;
      blocks 100;
      i.words) in
  say "a smaller one within: %s, then %s, %d words or a few more" !inner
    (result o.result) (o.words / 100 * 100);
  let o = L.run ~words:1000 (fun () ->
      ignore (L.run ~words:100_000 for_ever);
      inner := "went on") in
  inner := "";
  show "a larger one within" o;
  let o = L.run ~words:1000 (fun () -> L.run ~time:100. for_ever) in
  show "another kind within" o;
  let token = T.create () in
  let o = L.run ~token (fun () ->
      L.run ~words:1_000_000_000 (fun () -> T.set token; for_ever ())) in
  show "a token outside" o;
  let o = L.run (fun () -> ignore (L.run (fun () -> blocks 500)); blocks 500) in
  say "both charged: %b" (o.words >= 2000 && o.words < 2200)

(* ---- masks --------------------------------------------------------------------------- *)

let masks () =
  let log = ref [] in
  let note s = log := s :: !log in
  let o = L.run ~words:1000 (fun () ->
      M.with_resource ()
        ~acquire:(fun () -> blocks 10_000; note "acquired";
                   M.assert_blocked ())
        ~scope:(fun () -> note "scope"; for_ever ())
        ~release:(fun () -> blocks 10_000;
                   note (Printf.sprintf "released, interrupted: %b"
                           (L.is_interrupted ())))) in
  show "a resource" o;
  List.iter (say "  %s") (List.rev !log);
  say "blocked: %b" (M.is_blocked ());
  let o = L.run ~words:1000 (fun () ->
      M.masked blocks 10_000;
      note "not seen";
      blocks 10) in
  show "masked" o;
  (* A finaliser and a handler of a signal are not stopped. *)
  let finalised = ref 0 and signals = ref 0 in
  let o = L.run ~words:100_000 (fun () ->
      Gc.finalise (fun _ -> blocks 100_000; incr finalised) (ref 0);
      Gc.full_major ();
      note "not seen";
      for_ever ()) in
  show "a finaliser" o;
  say "whole: %d" !finalised;
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ ->
      blocks 100_000; incr signals));
  let o = L.run ~words:100_000 (fun () ->
      Unix.kill (Unix.getpid ()) Sys.sigusr1;
      for_ever ()) in
  show "a signal" o;
  say "whole: %d" !signals;
  (* A handler that raises: the mask ends with it. *)
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> raise Mine));
  let o = L.run ~words:100_000 (fun () ->
      (try Unix.kill (Unix.getpid ()) Sys.sigusr1; for_ever ()
       with Mine -> incr signals);
      for_ever ()) in
  show "a signal that raises" o;
  say "raised: %d" !signals;
  (* A task within a handler has its own limits. *)
  let inner = ref "" in
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ ->
      inner := result (L.limit_words ~words:1000 for_ever);
      blocks 100_000));
  let o = L.run ~words:100_000 (fun () ->
      Unix.kill (Unix.getpid ()) Sys.sigusr1;
      for_ever ()) in
  show "a task within" o;
  say "its own: %s" !inner;
  let token = T.create () in
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ -> T.set token));
  ignore (Unix.setitimer Unix.ITIMER_REAL
            { Unix.it_value = 0.02; it_interval = 0. });
  show "a token by a signal" (L.run ~token spin)

(* ---- memprof-limits' names ------------------------------------------------------------ *)

let names () =
  L.start_memprof_limits ();
  (match L.limit_allocations ~limit:3000L (fun () -> blocks 10_000; 7) with
   | Ok (v, n) -> say "allocations: %d, about: %b" v (n < 200L)
   | Error e -> say "allocations: %s" (Printexc.to_string e));
  say "allocations: %s" (result (L.limit_allocations ~limit:200L for_ever));
  (match L.limit_allocations ~limit:(-1L) ignore with
   | _ -> say "not refused"
   | exception Failure _ -> say "refused");
  (match L.limit_allocations ~limit:(Int64.add L.max_allocation_limit 1L) ignore
   with
   | _ -> say "not refused"
   | exception Failure _ -> say "refused");
  say "the most: %s"
    (result (L.limit_allocations ~limit:L.max_allocation_limit ignore));
  say "no memory limit: %s" (result (L.limit_global_memory (fun () -> blocks 10)));
  L.set_global_memory_limit 0;
  say "memory: %s" (result (L.limit_global_memory for_ever));
  L.set_global_memory_limit (-1);
  say "time: %s" (result (L.limit_time ~seconds:0.01 spin));
  let token = T.create () in
  T.set token;
  say "token: %s" (result (L.limit_with_token ~token ignore));
  let v, points = L.each_point (fun () -> blocks 5; 3) in
  say "each point: %d, stopped: %b" v (points >= 5);
  say "plan: %d safe, %d stop, %d for them"
    (L.Plan.safe_words ~probability:4e-15 200_000)
    (L.Plan.stop_words ~probability:4e-15 200_000)
    (L.Plan.limit_for ~probability:4e-15 17_182)

(* ---- blocking, forking, going on for long ------------------------------------------------ *)

(* Of the process, in MiB. *)
let resident () =
  let c = open_in "/proc/self/statm" in
  let n = Scanf.sscanf (input_line c) "%_d %d" (fun n -> n / 256) in
  close_in c;
  n

let processes () =
  show "asked each time"
    (L.run ~polls:1_000_000 ~again:L.Each (fun () ->
         for _ = 1 to 100 do Unix.sleepf 1e-4 done));
  let token = T.create () in
  show "reached before it blocks"
    (L.run ~token ~again:L.Each (fun () ->
         T.set token;
         (try for_ever () with _ -> ());
         Unix.sleepf 1e-3; Unix.sleepf 1e-3));
  let o = L.run (fun () ->
      match Unix.fork () with
      | 0 ->
        let o = L.run ~time:0.02 spin in
        Unix._exit (if o.cause = Some L.Time then 7 else 8)
      | pid ->
        match Unix.waitpid [] pid with
        | _, Unix.WEXITED n -> n
        | _ -> -1) in
  say "a child: %s" (match o.result with Ok n -> string_of_int n | _ -> "?");
  let o = L.run ~time:0.05 (fun () ->
      match Unix.fork () with
      | 0 ->
        (try spin () with _ -> ());
        Unix._exit (if L.is_interrupted () then 9 else 8)
      | pid -> L.Masking.masked (Unix.waitpid []) pid) in
  say "a task's child: %s" (result o.result);
  let reach () = for _ = 1 to 50_000 do ignore (L.run ~words:1000 for_ever) done in
  reach ();
  let before = resident () in
  reach (); reach ();
  say "no memory is lost: %b" (resident () - before < 8)

(* ---- threads and domains ---------------------------------------------------------------- *)

let threads () =
  (* Each has a limit of its own; those without are not stopped. *)
  let done_ = Atomic.make 0 and stopped = Atomic.make 0 in
  let wrong = Atomic.make 0 in
  let limited i () =
    for k = 1 to 20 do
      let words = 50_000 + (1000 * i) in
      let o = L.run ~words (fun () ->
          if k mod 2 = 0 then
            while true do
              blocks 1000;
              if k mod 4 = 0 then Thread.yield ()
            done
          else blocks 10_000) in
      if L.is_interrupted () then Atomic.incr wrong;
      match o.cause with
      | Some L.Words when k mod 2 = 0 && o.words <= words -> Atomic.incr stopped
      | None when k mod 2 = 1 && o.words >= 20_000 && o.words < 20_100 ->
        Atomic.incr done_
      | _ -> Atomic.incr wrong
    done in
  let free () =
    for _ = 1 to 200 do blocks 10_000; Thread.yield () done;
    Atomic.incr done_ in
  let all = List.init 4 (fun i -> Thread.create (limited i) ())
            @ List.init 2 (fun _ -> Thread.create free ()) in
  limited 9 ();
  List.iter Thread.join all;
  say "threads: %d stopped, %d done, %d wrong" (Atomic.get stopped)
    (Atomic.get done_) (Atomic.get wrong);
  (* A deadline of a thread beside one that spins. *)
  let stop = Atomic.make false in
  let other = Thread.create (fun () ->
      while not (Atomic.get stop) do Thread.yield () done) () in
  show "a deadline beside another thread" (L.run ~time:0.05 spin);
  Atomic.set stop true;
  Thread.join other;
  (* What a task's thread allocates is not the task's. *)
  let o = L.run ~words:10_000 (fun () ->
      Thread.join (Thread.create (fun () -> blocks 100_000) ())) in
  show "a thread of a task" o

let domains () =
  let work i () =
    let token = T.create () in
    let a = L.run ~words:(10_000 + i) for_ever in
    let b = L.run ~time:0.02 spin in
    let c = L.run ~token (fun () -> T.set token; for_ever ()) in
    let d = L.run ~live_words:100_000 (fun () ->
        let keep = ref [] in
        while true do keep := ref 0 :: !keep done) in
    String.concat " " [ cause a; cause b; cause c; cause d ] in
  let all = List.init 3 (fun i -> Domain.spawn (work i)) in
  say "domains: %s" (work 3 ());
  List.iter (fun d -> say "domains: %s" (Domain.join d)) all;
  let token = T.create () in
  let all = List.init 3 (fun _ ->
      Domain.spawn (fun () -> cause (L.run ~token spin))) in
  Unix.sleepf 0.02;
  T.set token;
  List.iter (fun d -> say "one token: %s" (Domain.join d)) all;
  let o = L.run ~words:10_000 (fun () ->
      Domain.join (Domain.spawn (fun () -> blocks 100_000))) in
  show "a domain of a task" o

(* ---- where a try ends ---------------------------------------------------------------------- *)

(* Bytecode repeats the end of a `try` as long as anything is wanted of it. *)
let tries () =
  (* The grace ends with a block, and a poll sees that before the next one. *)
  let n = ref 0 in
  let o = L.run ~words:1000 ~again:(L.After 10) (fun () ->
      for _ = 1 to 2000 do
        try ignore (Sys.opaque_identity (ref 0)); Gc.minor ()
        with L.Reached -> incr n
      done) in
  show "tries while there is grace" o;
  say "again: %b" (!n > 100);
  (* Callbacks of profiles are not asked, and their task is, after them. *)
  let called = ref 0 in
  let note _ =
    (try ignore (Sys.opaque_identity (ref !called)) with Mine -> ());
    incr called;
    None in
  let p = Gc.Memprof.start ~sampling_rate:0.1
      { Gc.Memprof.null_tracker with alloc_minor = note; alloc_major = note } in
  let token = T.create () in
  let o = L.run ~token ~again:L.Each (fun () ->
      T.set token;
      for _ = 1 to 1000 do
        try blocks 10; spin () with L.Reached -> ()
      done) in
  Gc.Memprof.stop ();
  Gc.Memprof.discard p;
  show "tries in callbacks" o;
  say "called: %b" (!called > 0);
  let o = L.run ~polls:1000 (fun () ->
      for i = 1 to 20 do
        try ignore (Sys.opaque_identity (ref i)) with Mine -> ()
      done) in
  show "tries that are not asked" o;
  show "tries that are asked" (L.run ~polls:1000 (fun () ->
      while true do
        try ignore (Sys.opaque_identity (ref 0)) with Mine -> ()
      done));
  (* Words on the stack that are no place in code: of an allocation's frame. *)
  show "integers on the stack" (L.run ~polls:1000 (fun () ->
      List.iter (fun i ->
          let i = Sys.opaque_identity i in
          let block = ref i in
          if !(Sys.opaque_identity block) <> i then raise Mine)
        [ -1; 0; 1; max_int; min_int ]));
  show "a try before polls" (L.run ~polls:1000 (fun () ->
      (try ignore (Sys.opaque_identity (ref 0)) with Mine -> ());
      while true do ignore (Unix.getpid ()) done))

(* ---- beside a profile ---------------------------------------------------------------------- *)

let profile () =
  let n = ref 0 and at_limit = ref 0 in
  let note _ =
    incr n;
    if L.is_interrupted () then incr at_limit;
    blocks 10;
    None in
  let p = Gc.Memprof.start ~sampling_rate:0.01
      { Gc.Memprof.null_tracker with alloc_minor = note; alloc_major = note } in
  let o = L.run ~words:1_000_000 for_ever in
  Gc.Memprof.stop ();
  Gc.Memprof.discard p;
  show "beside a profile" o;
  say "sampled: %b" (!n > 1000);
  say "who: %b" (Array.exists (fun (s : L.site) ->
      match Printexc.backtrace_slots s.callstack with
      | Some slots when Array.length slots > 0 ->
        (match Printexc.Slot.location slots.(0) with
         | Some l -> l.filename = "limits.ml"
         | None -> false)
      | _ -> false) o.sites);
  say "most: %b" (o.site_words > 500_000)

let () =
  say "available: %b" (Aliquot.is_available ());
  words (); kinds (); exceptions (); nesting (); masks (); names ();
  processes (); threads (); domains (); tries (); profile ();
  Gc.full_major ()
