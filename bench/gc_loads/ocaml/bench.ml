(* The programs of ../c for OCaml, native.  usage: bench WORKLOAD ARGS...
   Par is par_domains.ml for OCaml 5, par_none.ml before. *)
external now_ns : unit -> (int [@untagged]) = "bench_now_byte" "bench_now" [@@noalloc]

(* xorshift64* truncated to 53 bits; OCaml ints are 63-bit so the state is kept
   in two Int64s the compiler unboxes inside one function *)
let seed = Bytes.create 8
let set_seed (x : int) = Bytes.set_int64_ne seed 0 (Int64.of_int x)
let[@inline] rnd () =
  let open Int64 in
  let x = Bytes.get_int64_ne seed 0 in
  let x = logxor x (shift_right_logical x 12) in
  let x = logxor x (shift_left x 25) in
  let x = logxor x (shift_right_logical x 27) in
  Bytes.set_int64_ne seed 0 x;
  to_int (shift_right_logical (mul x 0x2545F4914F6CDD1DL) 11)

(* log-linear histogram *)
let hb = Array.make 1024 0
let hn = ref 0
let hmax = ref 0
let rec log2 v a = if v <= 1 then a else log2 (v lsr 1) (a + 1)
let hist_add v =
  let i = if v < 16 then v else let e = log2 v 0 in (e - 3) * 16 + ((v lsr (e - 4)) land 15) in
  hb.(i) <- hb.(i) + 1; incr hn; if v > !hmax then hmax := v
let hist_q q =
  let want = int_of_float (float !hn *. q) in
  let s = ref 0 and r = ref !hmax in
  (try for i = 0 to 1023 do
      s := !s + hb.(i);
      if !s > want then begin
        r := (if i < 16 then i else (16 + i mod 16) lsl (i / 16 - 1)); raise Exit end
    done with Exit -> ());
  float !r
let hist_print what =
  Printf.printf "lat_us %s n=%d p50=%.2f p99=%.2f p99.9=%.2f p99.99=%.2f max=%.1f\n" what !hn
    (hist_q 0.5 /. 1e3) (hist_q 0.99 /. 1e3) (hist_q 0.999 /. 1e3) (hist_q 0.9999 /. 1e3)
    (float !hmax /. 1e3)

(* ---- binary trees ---- *)
type tree = Empty | Node of tree * tree
(* opaque: a constant Node (Empty, Empty) would be one shared static block *)
let rec make d = if d = 0 then Node (Sys.opaque_identity Empty, Empty) else let l = make (d - 1) in let r = make (d - 1) in Node (l, r)
let rec check = function Empty -> 0 | Node (l, r) -> 1 + check l + check r
let bintrees maxd nth =
  Printf.printf "stretch %d\n" (check (make (maxd + 1)));
  let long = make maxd in
  let part () =
    let s = ref 0 in
    let d = ref 4 in
    while !d <= maxd do
      let it = (1 lsl (maxd - !d + 4)) / nth in
      for _ = 1 to it do s := !s + check (make !d) done;
      d := !d + 2
    done; !s in
  let s = List.fold_left (+) 0 (Par.run nth part) in
  Printf.printf "short %d long %d\n" s (check long)

(* ---- GCBench ---- *)
type gnode = { mutable l : gnode; mutable r : gnode; mutable i : int; mutable j : int }
let nil : gnode = Obj.magic 0
let tree_size d = (1 lsl (d + 1)) - 1
let rec populate d t =
  if d > 0 then begin
    let l = { l = nil; r = nil; i = 0; j = 0 } in
    let r = { l = nil; r = nil; i = 0; j = 0 } in
    t.l <- l; t.r <- r;
    populate (d - 1) t.l; populate (d - 1) t.r
  end
let rec gmake d = if d <= 0 then { l = nil; r = nil; i = 0; j = 0 }
  else let l = gmake (d - 1) in let r = gmake (d - 1) in { l; r; i = 0; j = 0 }
let gcbench maxd nth =
  let part () =
    let long = { l = nil; r = nil; i = 0; j = 0 } in
    populate maxd long;
    let a = Array.make 500000 0.0 in
    for i = 1 to 249999 do a.(i) <- 1.0 /. float i done;
    let d = ref 4 in
    while !d <= maxd do
      let it = 2 * tree_size (maxd + 2) / tree_size !d in
      for _ = 1 to it do
        let t = { l = nil; r = nil; i = 0; j = 0 } in
        populate !d t; ignore (Sys.opaque_identity t) done;
      for _ = 1 to it do ignore (Sys.opaque_identity (gmake !d)) done;
      d := !d + 2
    done;
    if a.(1000) <> 1.0 /. 1000.0 then exit 3;
    ignore (Sys.opaque_identity long) in
  ignore (Par.run nth part); print_endline "ok"

(* ---- splay ---- *)
type pay = Leaf of int array | P of pay * pay
type sn = { mutable sl : sn; mutable sr : sn; pay : pay; key : int }
let snil : sn = Obj.magic 0
let rec payload d key =
  if d = 0 then Leaf [| 0; 1; 2; 3; 4; 5; 6; 7; 8; 9; key |]
  else let l = payload (d - 1) key in let r = payload (d - 1) key in P (l, r)
let splay t key scratch =
  if t == snil then t else begin
    scratch.sl <- snil; scratch.sr <- snil;
    let l = ref scratch and r = ref scratch and t = ref t in
    (try while true do
        if key < !t.key then begin
          if !t.sl == snil then raise_notrace Exit;
          if key < !t.sl.key then begin
            let y = !t.sl in !t.sl <- y.sr; y.sr <- !t; t := y;
            if !t.sl == snil then raise_notrace Exit end;
          !r.sl <- !t; r := !t; t := !t.sl
        end else if key > !t.key then begin
          if !t.sr == snil then raise_notrace Exit;
          if key > !t.sr.key then begin
            let y = !t.sr in !t.sr <- y.sl; y.sl <- !t; t := y;
            if !t.sr == snil then raise_notrace Exit end;
          !l.sr <- !t; l := !t; t := !t.sr
        end else raise_notrace Exit
      done with Exit -> ());
    !l.sr <- !t.sl; !r.sl <- !t.sr;
    !t.sl <- scratch.sr; !t.sr <- scratch.sl; !t
  end
let splay_bench nn nops =
  set_seed 42;
  let scratch = { sl = snil; sr = snil; pay = Leaf [||]; key = 0 } in
  let root = ref snil in
  let t0 = now_ns () in
  let t1 = ref t0 in
  for i = 0 to nn + nops - 1 do
    let key = rnd () in
    let pay = payload 3 key in
    let n = { sl = snil; sr = snil; pay; key } in
    if !root != snil then begin
      let t = splay !root key scratch in
      if t.key < key then begin n.sl <- t; n.sr <- t.sr; t.sr <- snil end
      else begin n.sr <- t; n.sl <- t.sl; t.sl <- snil end
    end;
    root := n;
    if i >= nn then begin
      let t = splay !root (rnd ()) scratch in
      root := if t.sl == snil then t.sr
        else begin let u = splay t.sl t.key scratch in u.sr <- t.sr; u end
    end;
    if i land 15 = 15 then begin
      let e = now_ns () in
      if i >= nn then hist_add (e - !t1);
      t1 := e
    end
  done;
  Printf.printf "root %d\n" !root.key;
  hist_print "splay16";
  Printf.printf "sec %.3f\n" (float (now_ns () - t0) /. 1e9)

(* ---- churn ---- *)
type cell = Nil | Cell of { next : cell; a : int; b : int; d : int }
let rec chain_ i n v acc = if i = n then acc else chain_ (i + 1) n v (Cell { next = acc; a = v; b = i; d = 0 })
let churn nslots nreq =
  set_seed 7;
  let tab = Array.init ((nslots + 511) / 512) (fun _ -> Array.make 512 Nil) in
  for i = 0 to nslots - 1 do
    let n = 1 + (rnd () land 7) in
    tab.(i / 512).(i mod 512) <- chain_ 0 n i Nil
  done;
  let t0 = now_ns () in
  let t = ref t0 and sum = ref 0 in
  for q = 0 to nreq - 1 do
    for _ = 1 to 16 do
      let i = rnd () mod nslots in
      let n = 1 + (rnd () land 7) in
      tab.(i / 512).(i mod 512) <- chain_ 0 n i Nil
    done;
    let rec walk p s = match p with Nil -> s | Cell c -> walk c.next (s + c.b) in
    sum := walk (Sys.opaque_identity (chain_ 0 100 q Nil)) !sum;
    let e = now_ns () in
    hist_add (e - !t); t := e
  done;
  Printf.printf "sum %d\n" !sum;
  hist_print "churn";
  Printf.printf "sec %.3f\n" (float (now_ns () - t0) /. 1e9)

(* ---- old->young mutation ---- *)
type box = { v : int; w : int }
type old = { mutable p : box; mutable q : box; k : int }
let bnil : box = Obj.magic 0
let mutate nold nst =
  set_seed 99;
  let tab = Array.init ((nold + 511) / 512) (fun i ->
      Array.init 512 (fun k -> { p = bnil; q = bnil; k = i * 512 + k })) in
  let t0 = now_ns () in
  let sum = ref 0 in
  for i = 0 to nst - 1 do
    let b = Sys.opaque_identity { v = i; w = 0 } in
    let k = rnd () mod nold in
    let o = tab.(k / 512).(k mod 512) in
    if o.p != bnil then sum := !sum + o.p.v;
    o.p <- b
  done;
  Printf.printf "sum %d\nsec %.3f\n" !sum (float (now_ns () - t0) /. 1e9)

(* ---- words ---- *)
type ent = { enext : ent; ekey : string; mutable count : int }
let enil : ent = Obj.magic 0
let hash s =
  let h = ref 0x4bf29ce484222325 in
  for i = 0 to String.length s - 1 do h := (!h lxor Char.code (String.unsafe_get s i)) * 1099511628211 done; !h
let words vocab ntok =
  set_seed 5;
  let buf = Bytes.create 32 in
  let nb = 1 lsl 16 in
  let tab = Array.init (nb / 512) (fun _ -> Array.make 512 enil) in
  let parts = Array.make 16 "" in
  let t0 = now_ns () in
  let sum = ref 0 and distinct = ref 0 in
  for i = 0 to ntok - 1 do
    let a = rnd () mod vocab in
    let b = rnd () mod (a + 1) in
    let id = rnd () mod (b + 1) in
    let len = 4 + (id mod 9) in
    let x = ref (Int64.add (Int64.mul (Int64.of_int id) 2654435761L) 12345L) in
    for k = 0 to len - 1 do
      Bytes.unsafe_set buf k (Char.unsafe_chr (97 + Int64.to_int (Int64.shift_right_logical !x 33) mod 26));
      x := Int64.add (Int64.mul !x 6364136223846793005L) 1442695040888963407L
    done;
    let s = Bytes.sub_string buf 0 len in
    let h = hash s land (nb - 1) in
    let rec find e = if e == enil then e else if String.equal e.ekey s then e else find e.enext in
    let row = tab.(h / 512) in
    let e = find row.(h mod 512) in
    if e != enil then e.count <- e.count + 1
    else begin row.(h mod 512) <- { enext = row.(h mod 512); ekey = s; count = 1 }; incr distinct end;
    parts.(i land 15) <- s;
    if i land 15 = 15 then begin
      let len = Array.fold_left (fun a p -> a + String.length p + 1) 0 parts in
      let j = Bytes.create len in
      let o = ref 0 in
      Array.iter (fun p -> let l = String.length p in
                   Bytes.unsafe_blit_string p 0 j !o l; Bytes.unsafe_set j (!o + l) ' '; o := !o + l + 1) parts;
      sum := !sum + hash (Bytes.unsafe_to_string j)
    end
  done;
  Printf.printf "distinct %d sum %x\nsec %.3f\n" !distinct !sum (float (now_ns () - t0) /. 1e9)

(* ---- allocation micro ---- *)
let cons n =
  let t0 = now_ns () in
  for i = 1 to n do ignore (Sys.opaque_identity { v = i; w = 0 }) done;
  Printf.printf "ns/alloc %.3f\n" (float (now_ns () - t0) /. float n)

let () =
  let arg i d = if Array.length Sys.argv > i then int_of_string Sys.argv.(i) else d in
  (match Sys.argv.(1) with
   | "bintrees" -> bintrees (arg 2 18) (arg 3 1)
   | "gcbench" -> gcbench (arg 2 16) (arg 3 1)
   | "splay" -> splay_bench (arg 2 20000) (arg 3 500000)
   | "churn" -> churn (arg 2 1000000) (arg 3 400000)
   | "mutate" -> mutate (arg 2 1000000) (arg 3 20000000)
   | "words" -> words (arg 2 200000) (arg 3 10000000)
   | "cons" -> cons (arg 2 100000000)
   | _ -> exit 2);
  match Sys.getenv_opt "SHIM_STATS" with
  | None -> ()
  | Some _ ->
    let s = Gc.quick_stat () in
    Printf.eprintf "minor %d major %d compactions %d promoted %.0fMw minorw %.0fMw top_heap %dMB\n"
      s.minor_collections s.major_collections s.compactions (s.promoted_words /. 1e6)
      (s.minor_words /. 1e6) (s.top_heap_words * 8 / 1000000)
