(** Limits on tasks, traces, and figures of the collector, for programs on
    Aliquot's runtime variant.

    {v ocamlfind ocamlopt -runtime-variant _aliquot -package aliquot -linkpkg v}

    Linked with another runtime the library is there, and does nothing:
    {!is_available} is false, {!Limits.is_interrupted} too, and what needs the
    variant raises [Failure]. *)

val is_available : unit -> bool
(** Whether the program runs on the variant. *)

(** Tasks that can be stopped: functions that run until they return, or a limit
    is reached. The names are those of memprof-limits where the meaning is.

    {b Words} are 8 bytes, headers counted.

    {b When a limit is reached} the exception {!Reached} is raised in the task,
    at an allocation or a poll of OCaml's code (loops and recursive functions
    poll, whether they allocate or not), and again later if the task catches it
    ({!again}). What the task returns, or raises, does not count any more:
    {!run} gives [Error]. C code is not left: what it allocates counts, and the
    exception is raised behind it; so is it after a blocking call, which is not
    interrupted.

    {b What is not stopped}: finalisers, handlers of signals, callbacks of
    [Gc.Memprof], functions of [at_exit] that are older than the program's first
    task, and what is masked ({!Masking}). What they allocate is the task's. A
    task that begins in such a callback is judged at its end.

    {b Nesting.} An inner task may allocate what the outer one has left at most,
    and what it allocates is charged to both. If the outer task's limit is
    reached within the inner one, the exception passes through the inner
    {!run}, and the outer one gives [Error].

    {b Threads.} A task is its thread's alone: threads and domains that it makes
    are outside of its limits. Each thread has its own, in each domain.

    {b Effects} do not cross a task: [perform] in it finds handlers that are
    installed in it, or raises [Effect.Unhandled].

    {b Rules.} 1 Do not ask which exception it is: catch-all handlers ask
    {!is_interrupted}, and raise it again. 2 When it is raised, clean up and
    leave soon. 3 What others see is changed under {!Masking.with_resource}. *)
module Limits : sig
  (** A flag that stops the tasks that have it. *)
  module Token : sig
    type t

    val create : unit -> t
    (** Not set. It may be shared by any number of tasks. *)

    val set : t -> unit
    (** Sets it, for ever. By any thread or domain, and in handlers of
        [Sys.signal]. Tasks under it are stopped at their next allocation or
        poll. *)

    val is_set : t -> bool
  end

  exception Reached
  (** What a task is left by. Of use where it is printed: see rule 1. *)

  (** {1 A task} *)

  (** Which limit it was. *)
  type cause =
    | Words
    | Sampled_words
    | Heap
    | Time
    | Cpu
    | Polls
    | Token_set
    | Live_words

  (** When the exception is raised again, if the task goes on:
      - [After n]: when it has allocated [n] more words. [After 10_000] unless
        told, so that [Fun.protect] and its like can clean up.
      - [Next_sample]: after a random number of words, 10,000 in the mean, as
        memprof-limits does.
      - [Each]: at each allocation and poll. *)
  type again = Each | Next_sample | After of int

  (** A place where the task has allocated, as a profile saw it. *)
  type site = {
    callstack : Printexc.raw_backtrace;  (** 8 frames at most *)
    samples : int;
    words : int;  (** as these samples have it *)
  }

  type 'a outcome = {
    result : ('a, exn) result;
        (** [Error e]: a limit of this task was reached; [e] is the exception
            that left it, or {!Reached} *)
    cause : cause option;  (** the first that was reached *)
    words : int;  (** allocated by the task, exactly *)
    sampled_words : int;
        (** the same as samples have it, 0 without a limit of that kind *)
    live_words : int;  (** at the end; likewise *)
    heap_bytes : int;  (** of the major heap, at the end *)
    time : float;  (** seconds *)
    cpu : float;  (** seconds; 0 without a limit of that kind *)
    site_samples : int;
    site_words : int;
    sites : site array;
        (** who allocated, most first, 8 at most, if a [Gc.Memprof] with call
            stacks ran in the domain meanwhile *)
  }

  val run :
    ?words:int ->
    ?sampled_words:int ->
    ?live_words:int ->
    ?heap_bytes:int ->
    ?time:float ->
    ?cpu:float ->
    ?polls:int ->
    ?token:Token.t ->
    ?garbage:bool ->
    ?again:again ->
    ?seed:int ->
    (unit -> 'a) ->
    'a outcome
  (** Runs a task under limits; those that are not given are none.

      - [words] allocated, exactly: a block of OCaml's code that would pass it is
        not made; 0 allows none. C code's blocks, large arrays and strings among
        them, are there when they are noticed.
      - [sampled_words]: the same by samples, one in 10,000 words, and what
        custom blocks (bigarrays) hold outside of the heap. A matter of chance:
        see {!Plan}.
      - [live_words] that the task has allocated and no collection has found
        dead, estimated by samples to some 5 %. The heap is collected before the
        task is stopped.
      - [heap_bytes] of the major heap, of all domains. The heap is compacted
        before the task is stopped.
      - [time]: seconds from now on. [cpu]: seconds of this thread.
      - [polls]: how often the limits are asked. While a task has this limit each
        allocation and poll asks, and is slow: for tests. In bytecode the end of
        a [try] does not ask, and the first to ask after it is an allocation or
        a call of C code.
      - [token]: if it is set already, the task is not called.
      - [garbage]: limits on the heap and on live words are judged without a
        collection before.
      - [seed]: if not 0, of what is left to chance; a task that allocates the
        same is stopped at the same block.

      All limits are looked at once more when the task ends. If none is reached,
      an exception that leaves the task leaves [run], too.

      @raise Invalid_argument a number is negative, or no number.
      @raise Out_of_memory no memory, or no thread, for what the limits need.
      @raise Failure the program does not run on the variant. *)

  (** {1 A limit at a time} *)

  val limit_words : words:int -> (unit -> 'a) -> ('a, exn) result
  val limit_live_words : words:int -> (unit -> 'a) -> ('a, exn) result
  val limit_time : seconds:float -> (unit -> 'a) -> ('a, exn) result

  (** {2 As Memprof_limits has them} *)

  val limit_with_token : token:Token.t -> (unit -> 'a) -> ('a, exn) result

  val limit_allocations :
    limit:int64 -> (unit -> 'a) -> ('a * int64, exn) result
  (** [limit] in thousands of words, by samples. [Ok (v, n)]: about [n] thousand
      words were allocated.
      @raise Failure it is negative, or more than {!max_allocation_limit}. *)

  val max_allocation_limit : int64

  val set_global_memory_limit : int -> unit
  (** In KiB of the major heap, for tasks of {!limit_global_memory} that begin
      from now on, in all domains; negative: none. *)

  val limit_global_memory : (unit -> 'a) -> ('a, exn) result

  val start_memprof_limits : unit -> unit
  (** Nothing needs to be started. *)

  (** {1 Within a task} *)

  val is_interrupted : unit -> bool
  (** Whether a limit of a task of this thread, the innermost or one around it,
      is reached. Costs a few nanoseconds. *)

  (** Parts that are not stopped. What is allocated counts; a limit that is
      reached meanwhile stops the task afterwards. *)
  module Masking : sig
    val with_resource :
      acquire:('a -> 'b) ->
      'a ->
      scope:('b -> 'c) ->
      release:('b -> _) ->
      'c
    (** [acquire], masked; [scope] of what it returned, as before; [release],
        masked, once, whatever [scope] does. If [acquire] raises, nothing is
        released. *)

    val masked : ('a -> 'b) -> 'a -> 'b
    (** [f x], masked. *)

    val is_blocked : unit -> bool
    (** Whether a task runs here and is masked. *)

    val assert_blocked : unit -> unit
    (** @raise Failure it is not. *)
  end

  (** {1 For tests} *)

  val each_point : ?check:(int -> unit) -> (unit -> 'a) -> 'a * int
  (** Runs a task again and again, and stops it at its first allocation or poll,
      at its second, ..., until it comes to its end; then gives its value, and
      how often it was stopped. [check n] is called after each run. *)

  (** {1 Choosing a limit by samples} *)

  (** The exact law of limits that count samples, one of [interval] (10,000
      unless told) words in the mean. *)
  module Plan : sig
    val safe_words : ?interval:int -> probability:float -> int -> int
    (** Of a limit: how much a task may allocate and not be stopped, but with
        that probability. *)

    val stop_words : ?interval:int -> probability:float -> int -> int
    (** Of a limit: how much it can allocate before it is stopped, but with that
        probability; [max_int] if there is no such number. *)

    val limit_for : ?interval:int -> probability:float -> int -> int
    (** The least limit under which a task of so many words is safe; 0 if there
        is none. *)
  end
end

(** The pace of the major collector, as [Gc] of OCaml 4 told it.
    @raise Failure the program does not run on the variant. *)
module Heap : sig
  val get_bucket : int -> int
  (** Work that is due [n] minor heaps from now, in millionths of a major cycle;
      0 from the size of the window on.
      @raise Invalid_argument [n] is negative. *)

  val get_credit : unit -> int
  (** Work done in advance, in millionths of a major cycle. *)

  val huge_fallback_count : unit -> int
  (** How often small pages had to do for huge ones. *)
end

(** Traces of what the program allocates, in memtrace's format: [aliquot report]
    and [aliquot view] read them, and so do memtrace's own tools. A trace stands
    beside the program's profiles. [MEMTRACE=file] begins one without code.

    [start] is for the domain that calls it and those that it spawns from then
    on; the others are for any thread. None may be called in a callback of
    [Gc.Memprof].

    @raise Sys_error the file cannot be made or written.
    @raise Failure there is a trace already; there is none; the program does not
    run on the variant. *)
module Trace : sig
  (** What a trace has so far. *)
  type counts = {
    allocations : int;
    promotions : int;
    collections : int;
    n_samples : int;  (** words that the allocations stand for *)
    dropped : int;  (** of all three: the file lacks them *)
    bytes : int;
  }

  val start :
    ?rate:float ->
    ?callstack_size:int ->
    ?format:int ->
    ?context:string ->
    string ->
    unit
  (** Traces into the file of that name, which is overwritten. [rate] in samples
      a word, 1e-4 unless told; [format] 3: a stream for each domain; [context]:
      a text that the trace shows. The trace ends with [stop], or the program.
      @raise Invalid_argument a number is out of range, or a text has a zero
      byte.
      @raise Out_of_memory no memory for the trace. *)

  val stop : unit -> counts
  val flush : unit -> unit
  (** What has been sampled so far is in the file when it returns. *)

  val count : unit -> counts

  val with_trace :
    ?rate:float ->
    ?callstack_size:int ->
    ?format:int ->
    ?context:string ->
    string ->
    (unit -> 'a) ->
    'a
  (** [start], then the function, then [stop], whatever the function does. *)
end
