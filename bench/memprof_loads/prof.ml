(* As profile.h, by OCaml's own Gc.Memprof.  `start` returns the profile since
   OCaml 5.3 and nothing in OCaml 4; `ignore` takes both. *)
let () =
  match Sys.getenv_opt "PROFILE_RATE" with
  | None -> ()
  | Some rate ->
    let keeps = Sys.getenv_opt "PROFILE_KEEP" = Some "1" in
    let frames = match Sys.getenv_opt "PROFILE_FRAMES" with
      | None -> max_int | Some n -> int_of_string n in
    let allocs = ref 0 and promotes = ref 0 and deaths = ref 0 in
    let alloc _ = incr allocs; if keeps then Some 1 else None in
    ignore (Gc.Memprof.start ~sampling_rate:(float_of_string rate)
              ~callstack_size:frames
              { Gc.Memprof.alloc_minor = alloc; alloc_major = alloc;
                promote = (fun m -> incr promotes; Some m);
                dealloc_minor = (fun _ -> incr deaths);
                dealloc_major = (fun _ -> incr deaths) });
    at_exit (fun () ->
        Gc.Memprof.stop ();
        Printf.eprintf "samples %d told %d promoted %d died %d\n" !allocs
          !allocs !promotes !deaths)
