/** The platform could be told, and the store could not: the same comes again later. */
export class RetryLater extends Error {}
