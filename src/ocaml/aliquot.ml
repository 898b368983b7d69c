(* aliquot.ml -- OCaml's side of Aliquot's runtime variant: see aliquot.mli

   The primitives are in stubs.c, which finds the variant's (primitives.h).
   What they read and make is laid out as the records here are. *)

external is_available : unit -> bool = "aliquot_is_available" [@@noalloc]

module Limits = struct
  module Token = struct
    type t

    external new_ : unit -> t = "aliquot_token_new"
    external set : t -> unit = "aliquot_token_set" [@@noalloc]
    external is_set : t -> bool = "aliquot_token_is_set" [@@noalloc]

    let create () = new_ ()
  end

  exception Reached

  external exception_ : exn -> unit = "aliquot_exception"

  let () = exception_ Reached

  (* ---- of the task that runs ------------------------------------------------ *)

  external is_interrupted : unit -> bool = "aliquot_is_interrupted" [@@noalloc]

  module Masking = struct
    external mask : unit -> bool = "aliquot_mask" [@@noalloc]
    external unmask : bool -> unit = "aliquot_unmask" [@@noalloc]
    external is_blocked : unit -> bool = "aliquot_is_masked" [@@noalloc]

    let assert_blocked () =
      if not (is_blocked ()) then failwith "Aliquot.Limits.Masking: not blocked"

    let masked f x =
      let was = mask () in
      match f x with
      | v -> unmask was; v
      | exception e ->
        unmask was;
        raise e

    (* Nothing is raised where neither a call nor a block is made: between
       scope's end and [mask]. *)
    let with_resource ~acquire x ~scope ~release =
      let was = mask () in
      match acquire x with
      | exception e ->
        unmask was;
        raise e
      | resource ->
        let let_go () =
          match release resource with
          | _ -> unmask was
          | exception e ->
            unmask was;
            raise e in
        match unmask was; scope resource with
        | v ->
          ignore (mask ());
          let_go ();
          v
        | exception e ->
          ignore (mask ());
          let trace = Printexc.get_raw_backtrace () in
          let_go ();
          Printexc.raise_with_backtrace e trace
  end

  (* ---- tasks ------------------------------------------------------------------ *)

  type cause =
    | Words | Sampled_words | Heap | Time | Cpu | Polls | Token_set | Live_words

  type again = Each | Next_sample | After of int

  type site = {
    callstack : Printexc.raw_backtrace;
    samples : int;
    words : int;
  }

  type 'a outcome = {
    result : ('a, exn) result;
    cause : cause option;
    words : int;
    sampled_words : int;
    live_words : int;
    heap_bytes : int;
    time : float;
    cpu : float;
    site_samples : int;
    site_words : int;
    sites : site array;
  }

  (* -1: no limit. *)
  type 'a request = {
    r_task : unit -> 'a;
    r_words : int;
    r_sampled_words : int;
    r_live_words : int;
    r_heap_bytes : int;
    r_time_ns : int;
    r_cpu_ns : int;
    r_polls : int;
    r_token : Token.t option;
    r_again : int;
    r_again_words : int;
    r_flags : int;
    r_seed : int;
  }

  type 'a answer = {
    a_result : ('a, exn) result;
    a_cause : int;
    a_words : int;
    a_sampled_words : int;
    a_live_words : int;
    a_heap_bytes : int;
    a_time_ns : int;
    a_cpu_ns : int;
    a_site_samples : int;
    a_site_words : int;
    a_sites : site array;
  }

  external run_ : 'a request -> 'a answer = "aliquot_run"

  (* Functions of at_exit that are registered by then run masked: an exit in a
     task is not stopped half-way. *)
  let is_exit_masked = Atomic.make false

  let mask_exit () =
    if not (Atomic.exchange is_exit_masked true) then
      at_exit (fun () -> ignore (Masking.mask ()))

  let wrong what = invalid_arg ("Aliquot.Limits.run: " ^ what)

  let number what = function
    | None -> -1
    | Some n -> if n < 0 then wrong what else n

  let ns what = function
    | None -> -1
    | Some s ->
      if not (s >= 0.) then wrong what
      else if s >= 4e9 then max_int
      else int_of_float (s *. 1e9)

  let causes =
    [| None; Some Words; Some Sampled_words; Some Heap; Some Time; Some Cpu;
       Some Polls; Some Token_set; Some Live_words |]

  let garbage_counts = 2

  let run ?words ?sampled_words ?live_words ?heap_bytes ?time ?cpu ?polls ?token
      ?(garbage = false) ?(again = After 10_000) ?(seed = 0) task =
    mask_exit ();
    let r_again, r_again_words =
      match again with
      | Each -> 0, 0
      | Next_sample -> 1, 0
      | After n -> if n < 0 then wrong "again" else 2, n in
    let a =
      run_
        { r_task = task; r_words = number "words" words;
          r_sampled_words = number "sampled_words" sampled_words;
          r_live_words = number "live_words" live_words;
          r_heap_bytes = number "heap_bytes" heap_bytes;
          r_time_ns = ns "time" time; r_cpu_ns = ns "cpu" cpu;
          r_polls = number "polls" polls; r_token = token; r_again;
          r_again_words; r_flags = (if garbage then garbage_counts else 0);
          r_seed = number "seed" (Some seed) } in
    { result = a.a_result; cause = causes.(a.a_cause); words = a.a_words;
      sampled_words = a.a_sampled_words; live_words = a.a_live_words;
      heap_bytes = a.a_heap_bytes; time = float a.a_time_ns /. 1e9;
      cpu = float a.a_cpu_ns /. 1e9; site_samples = a.a_site_samples;
      site_words = a.a_site_words; sites = a.a_sites }

  (* ---- as Memprof_limits has them ---------------------------------------------- *)

  let start_memprof_limits () = ()

  let max_allocation_limit = Int64.div Int64.max_int 1000L

  let limit_allocations ~limit task =
    if limit < 0L || limit > max_allocation_limit then
      failwith "Aliquot.Limits.limit_allocations: limit out of range";
    let most = Int64.div (Int64.of_int max_int) 1000L in
    let sampled_words = Int64.to_int (min limit most) * 1000 in
    let o = run ~sampled_words ~again:Next_sample task in
    Result.map (fun v -> v, Int64.of_int (o.sampled_words / 1000)) o.result

  let global_kib = Atomic.make (-1)
  let set_global_memory_limit kib = Atomic.set global_kib kib

  let limit_global_memory task =
    let kib = Atomic.get global_kib in
    let heap_bytes = if kib < 0 then None else Some (kib * 1024) in
    (run ?heap_bytes ~again:Next_sample task).result

  let limit_with_token ~token task =
    (run ~token ~again:Next_sample task).result

  let limit_time ~seconds task = (run ~time:seconds task).result
  let limit_words ~words task = (run ~words task).result
  let limit_live_words ~words task = (run ~live_words:words task).result

  let each_point ?(check = ignore) task =
    let rec from n =
      match run ~polls:n ~again:Each task with
      | { cause = Some _; _ } -> check n; from (n + 1)
      | { result = Ok v; _ } -> check n; v, n
      | { result = Error e; _ } -> raise e in
    from 0

  (* ---- the planner ------------------------------------------------------------- *)

  module Plan = struct
    let interval = 10_000

    type question = { q_words : int; q_interval : int; q_probability : float }

    external safe_words_ : question -> int = "aliquot_safe_words"
    external stop_words_ : question -> int = "aliquot_stop_words"
    external limit_for_ : question -> int = "aliquot_limit_for"

    let ask f ?(interval = interval) ~probability words =
      f { q_words = words; q_interval = interval; q_probability = probability }

    let safe_words ?interval = ask safe_words_ ?interval
    let stop_words ?interval = ask stop_words_ ?interval
    let limit_for ?interval = ask limit_for_ ?interval
  end
end

module Heap = struct
  external get_bucket : int -> int = "aliquot_get_bucket"
  external get_credit : unit -> int = "aliquot_get_credit"
  external huge_fallback_count : unit -> int = "aliquot_huge_fallback_count"
end

module Trace = struct
  type counts = {
    allocations : int;
    promotions : int;
    collections : int;
    n_samples : int;
    dropped : int;
    bytes : int;
  }

  type request = {
    path : string;
    rate : float; (* a block of its own, as the record is not of floats alone *)
    frames : int;
    format : int;
    context : string option;
  }

  external start_ : request -> unit = "aliquot_trace_start"
  external stop : unit -> counts = "aliquot_trace_stop"
  external flush : unit -> unit = "aliquot_trace_flush"
  external count : unit -> counts = "aliquot_trace_count"

  let start ?(rate = 1e-4) ?(callstack_size = max_int) ?(format = 2) ?context
      path =
    if String.contains path '\000'
    || Option.fold context ~none:false ~some:(fun c -> String.contains c '\000')
    then invalid_arg "Aliquot.Trace.start";
    let frames = if callstack_size = max_int then -1 else callstack_size in
    try start_ { path; rate; frames; format; context }
    with Sys_error why -> raise (Sys_error (path ^ ": " ^ why))

  let with_trace ?rate ?callstack_size ?format ?context path f =
    start ?rate ?callstack_size ?format ?context path;
    Fun.protect ~finally:(fun () -> ignore (stop ())) f
end
