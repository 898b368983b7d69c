(* The ring of runtime events goes at exit while a domain writes to it. *)
type Runtime_events.User.tag += Written
let written = Runtime_events.User.register "written" Written Runtime_events.Type.int

let is_ready = Atomic.make false

let rec write () =
  Runtime_events.User.write written 0;
  Atomic.set is_ready true;
  write ()

let () =
  Runtime_events.start ();
  ignore (Domain.spawn write);
  while not (Atomic.get is_ready) do Domain.cpu_relax () done
