import type { BackendBench } from "../store/backends.ts";
import type { Sizes } from "./sizes.ts";

export type Bench = BackendBench<Sizes>;
