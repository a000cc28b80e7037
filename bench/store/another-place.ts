let asked = 0;

/**
 * A place behind everything, another one each time: the rows are the same and the question is not. A store may remember its
 * answers while nobody writes; what is timed is the read.
 */
export function behindEverything(): number {
  asked += 1;
  return Number.MAX_SAFE_INTEGER - asked;
}
