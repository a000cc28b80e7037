/** What the object server does instead of answering as it should: `times` times (once), for a method and part of a key. */
export type Fault = {
  readonly method?: string;
  readonly key?: string;
  readonly times?: number;
} & (
  | {
      readonly kind: "refuse";
      readonly status: number;
      readonly code: string;
      readonly headers?: Record<string, string>;
    }
  /** `hold-before` and `hold-after` doing it: until faults are set again. `cut-body` sends half an object. */
  | { readonly kind: "hang" | "cut" | "cut-body" | "hold-before" | "hold-after" }
);

export interface ServedRequest {
  readonly method: string;
  readonly key: string;
  /** 0 until it is answered. */
  status: number;
}
