(* Gc: what must hold of the figures with any collector. *)
let () =
  let a = Gc.quick_stat () in
  let l = List.init 100000 (fun i -> i, string_of_int i) in
  let b = Gc.quick_stat () in
  Printf.printf "%b\n" (b.minor_words -. a.minor_words >= 600000.);
  Printf.printf "%b\n" (b.minor_collections >= a.minor_collections);
  let s = Gc.stat () in
  Printf.printf "%b %b %b\n" (s.live_words >= 600000) (s.live_words <= s.heap_words)
    (s.top_heap_words >= s.heap_words);
  Printf.printf "%d\n" (List.length l);
  let m, p, j = Gc.counters () in
  Printf.printf "%b\n" (m >= p && j >= p);
  let c = Gc.get () in
  Gc.set { c with minor_heap_size = 65536; space_overhead = 200 };
  let d = Gc.get () in
  Printf.printf "%d %d\n" d.minor_heap_size d.space_overhead;
  Printf.printf "%b\n" (Gc.get_minor_free () > 0);
  ignore (Gc.major_slice 0);
  let called = ref 0 in
  let alarm = Gc.create_alarm (fun () -> incr called) in
  Gc.full_major ();
  Gc.delete_alarm alarm;
  Printf.printf "%b\n" (!called > 0)

(* Tuples that the runtime makes stay whole, whichever of their fields a minor
   collection comes between. *)
let () =
  Gc.set { (Gc.get ()) with minor_heap_size = 4096 };
  let now s = [| s.Gc.minor_words; s.promoted_words; s.major_words |] in
  let kept = List.init 5000 (fun _ -> let s = Gc.quick_stat () in (s, now s)) in
  Gc.full_major ();
  Printf.printf "%b\n" (List.for_all (fun (s, was) -> now s = was) kept)
