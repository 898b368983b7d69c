(* Generational roots come and go while domains collect together.

   A handle's finaliser removes its root.  It runs when its pool is swept: also
   in a stop, by a domain that needs the memory to copy to, while another one
   visits the roots, and waits for that domain to share its minor heap. *)
type handle
external handle_new : int list -> handle = "handle_new"
external handle_get : handle -> int list = "handle_get"

let domains = 3 and rounds = 1000 and at_once = 200

(* Lists that all domains have, so that minor collections are of all. *)
let shared = Array.make 64 []

let work me =
  let kept = Array.make at_once None in
  for round = 1 to rounds do
    for i = 0 to at_once - 1 do
      let list = List.init 8 (fun k -> round + i + k) in
      shared.((me + round + i) mod Array.length shared) <- list;
      (match kept.(i) with
       | Some (first, handle) -> assert (List.hd (handle_get handle) = first)
       | None -> ());
      kept.(i) <- Some (round + i, handle_new list)
    done;
    Array.iteri (fun i list -> shared.(i) <- List.rev list) shared
  done

let () =
  let others = List.init (domains - 1) (fun i ->
      Domain.spawn (fun () -> work (i + 1))) in
  work 0;
  List.iter Domain.join others;
  print_endline "done"
