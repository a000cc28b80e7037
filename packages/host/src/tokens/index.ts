export { createTokenCounter } from "./counter.ts";
