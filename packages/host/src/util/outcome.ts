/** Why a command cannot do its work, in one sentence that a person can act on. */
export interface Failure {
  readonly code:
    | "config.invalid"
    | "home.unusable"
    | "page.missing"
    | "store.unusable"
    | "port.taken"
    | "address.unusable";
  readonly message: string;
}

export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure };

export function done<T>(value: T): Outcome<T> {
  return { ok: true, value };
}

export function failed(code: Failure["code"], message: string): Outcome<never> {
  return { ok: false, failure: { code, message } };
}

/** The stable name of a system error (`EACCES`, `ENOENT` …), which says more than its message. */
export function systemCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "an unknown error";
}
