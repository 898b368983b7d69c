(* A thread that the system refuses is a Failure; the program goes on. *)
let () =
  for _ = 1 to 3 do
    match Domain.spawn (fun () -> 1) with
    | d -> Printf.printf "spawned %d\n" (Domain.join d)
    | exception Failure _ -> print_endline "refused"
  done;
  Gc.full_major ();
  print_endline "over"
