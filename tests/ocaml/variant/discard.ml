(* A profile that ends while another domain is in its callbacks: OCaml's own
   runtime crashes at times. *)
module MP = Gc.Memprof

let () =
  for _ = 1 to 100 do
    let goes_on = Atomic.make true and has_begun = Atomic.make false in
    let p = MP.start ~sampling_rate:1.
        { MP.null_tracker with alloc_minor = (fun _ -> Some ()) } in
    let d = Domain.spawn (fun () ->
        while Atomic.get goes_on do
          ignore (Sys.opaque_identity (ref 0));
          Atomic.set has_begun true
        done) in
    while not (Atomic.get has_begun) do Domain.cpu_relax () done;
    MP.stop (); MP.discard p;
    Gc.minor ();
    Atomic.set goes_on false;
    Domain.join d
  done;
  print_endline "discarded beside another domain"
