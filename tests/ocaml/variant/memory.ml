(* Out of memory, again and again, in allocations of small blocks. *)
let () =
  for _ = 1 to 3 do
    let keep = ref [] in
    match while true do keep := Sys.opaque_identity (ref 0) :: !keep done with
    | () -> ()
    | exception Out_of_memory -> keep := []; print_endline "out of memory"
  done
