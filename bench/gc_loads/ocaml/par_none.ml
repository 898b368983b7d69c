(* One domain does it n times, before OCaml 5. *)
let run n part = List.init n (fun _ -> part ())
