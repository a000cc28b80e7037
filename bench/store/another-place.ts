let cursorsGiven = 0;

/**
 * A place behind everything, another one each time: the rows are the same and the question is not. A store may remember its
 * answers while nobody writes; what is timed is the read.
 */
export function uncachedCursor(): number {
  cursorsGiven += 1;
  return Number.MAX_SAFE_INTEGER - cursorsGiven;
}
