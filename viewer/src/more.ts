/* more.ts -- a view that another file brings: heap.js, where a heap snapshot is
 * open */

import type { JSX } from "preact";
import type { Params } from "./state";
import { store } from "./store";

export interface More {
    name: string; /* in the address, as `view` */
    title: string;
    View: (props: { params: Params }) => JSX.Element;
}

export const more = store<More | undefined>(undefined);
