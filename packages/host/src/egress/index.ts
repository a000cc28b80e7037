export { createEgress, type Egress, type EgressRequest } from "./egress.ts";
