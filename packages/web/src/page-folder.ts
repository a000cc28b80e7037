/** The folder of the built page: all that a server needs from this package. */
export const pageFolder: URL = new URL("../dist", import.meta.url);
