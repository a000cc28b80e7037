/** One place in a file, and what stands there in the weakened build. */
export interface Edit {
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
}

/** A plausible bug, and the tests that have to notice it. */
export interface Mutant extends Edit {
  readonly fault: string;
  /** The contract line that the fault breaks: a test with this line in its title must fail. Without one, some test must. */
  readonly line?: string;
  /** Where a second guard would hide the fault, it is taken away too. */
  readonly also?: readonly Edit[];
  readonly tests: string;
}
