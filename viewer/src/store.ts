/* store.ts -- a value that several parts of the page watch */

import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
    get: () => T;
    set: (value: T) => void;
    use: () => T;
}

export function store<T>(initial: T): Store<T> {
    let value = initial;
    const listeners = new Set<(v: T) => void>();
    return {
        get: () => value,
        set: (v) => {
            value = v;
            for (const listener of [...listeners]) listener(v);
        },
        use: () => {
            const [v, setV] = useState(value);
            useEffect(() => {
                const listener = (next: T) => setV(() => next);
                listeners.add(listener);
                listener(value);
                return () => {
                    listeners.delete(listener);
                };
            }, []);
            return v;
        },
    };
}
