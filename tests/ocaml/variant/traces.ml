(* The collector's figures, and traces. It says what is in traces.expected. *)
module H = Aliquot.Heap
module T = Aliquot.Trace

let say fmt = Printf.printf (fmt ^^ "\n%!")
let file = Sys.argv.(1)

let raises name f =
  match f () with
  | _ -> say "%s: not refused" name
  | exception Invalid_argument s -> say "%s: Invalid_argument %s" name s
  | exception Failure s -> say "%s: Failure %s" name s
  | exception Sys_error s -> say "%s: Sys_error %s" name s

type tree = Leaf | Node of tree * tree

let rec grow n = if n = 0 then Leaf else Node (grow (n - 1), grow (n - 1))

let () =
  let inside n = n >= 0 && n <= 1_000_000 in
  Gc.set { (Gc.get ()) with window_size = 4 };
  let kept = List.init 20 (fun _ -> grow 12) in
  say "buckets: %b" (List.for_all (fun i -> inside (H.get_bucket i)) [ 0; 1; 3 ]);
  say "beyond the window: %d" (H.get_bucket 1000);
  raises "bucket" (fun () -> H.get_bucket (-1));
  let before = H.get_credit () in
  ignore (Gc.major_slice 1_000_000);
  say "credit: %b" (inside before && inside (H.get_credit ()));
  say "fallbacks: %b" (H.huge_fallback_count () >= 0);
  ignore (Sys.opaque_identity kept);
  raises "stop" T.stop;
  raises "count" T.count;
  raises "no folder" (fun () -> T.start "/nowhere/at/all.ctf");
  raises "rate" (fun () -> T.start ~rate:2. file);
  raises "zero byte" (fun () -> T.start (file ^ "\000"));
  raises "zero byte" (fun () -> T.start ~context:"a\000b" file);
  T.start ~rate:0.1 ~context:"a context" file;
  raises "twice" (fun () -> T.start file);
  let kept = grow 14 in
  T.flush ();
  let c = T.count () in
  say "so far: %b" (c.allocations > 1000 && c.bytes > 0);
  Gc.full_major ();
  let d = T.stop () in
  say "more: %b, promoted: %b, dropped: %d" (d.allocations >= c.allocations)
    (d.promotions > 0) d.dropped;
  ignore (Sys.opaque_identity kept);
  T.with_trace ~rate:0.1 file (fun () -> ignore (Sys.opaque_identity (grow 14)));
  raises "ended" T.stop
