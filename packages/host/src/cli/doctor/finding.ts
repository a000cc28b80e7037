/** The result of one check. */
export interface DoctorFinding {
  readonly what: string;
  /** `bad`: something does not work or is unsafe. `care`: it works, but needs attention. */
  readonly state: "good" | "care" | "bad";
  readonly words: string;
  /** What to do about it. */
  readonly mend?: string;
}

export function okFinding(what: string, words: string): DoctorFinding {
  return { what, state: "good", words };
}

export function warningFinding(what: string, words: string, mend: string): DoctorFinding {
  return { what, state: "care", words, mend };
}

export function errorFinding(what: string, words: string, mend: string): DoctorFinding {
  return { what, state: "bad", words, mend };
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
