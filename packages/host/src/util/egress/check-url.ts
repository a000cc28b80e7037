/** Why nothing was fetched. The code is stable. */
export interface EgressRefusal {
  readonly code:
    | "bad_url"
    | "scheme"
    | "credentials"
    | "port"
    | "address"
    | "unresolved"
    | "redirect"
    | "content_type"
    | "encoding"
    | "too_large"
    | "time"
    | "cancelled"
    | "connection";
  readonly message: string;
}

export type EgressResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: EgressRefusal };

export function fetched<T>(value: T): EgressResult<T> {
  return { ok: true, value };
}

export function refused(code: EgressRefusal["code"], words: string): EgressResult<never> {
  return { ok: false, refusal: { code, message: words } };
}
