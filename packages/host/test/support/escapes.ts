/** For tests of whole hosts, which reach a package by its tests. */
export { tryEscapes } from "../../src/sandbox/escapes/try-escapes.ts";
