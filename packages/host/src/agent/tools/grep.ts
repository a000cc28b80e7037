/** What the thread that searches is told. */
export interface GrepJob {
  readonly root: string;
  readonly path: string;
  readonly files: string | undefined;
  readonly pattern: string;
  readonly flags: string;
}

export type GrepMessage =
  | { readonly kind: "found"; readonly lines: readonly string[] }
  | { readonly kind: "over" }
  | { readonly kind: "failed"; readonly words: string };
