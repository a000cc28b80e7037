/** Where the built page is. Whoever serves it needs nothing else of this package. */
export const pageFolder: URL = new URL("../dist", import.meta.url);
