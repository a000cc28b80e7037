export { createHostClient } from "./client.ts";
export { createPauses } from "./pauses.ts";
export { takeSignInCode } from "./sign-in-link.ts";
export {
  createHostStore,
  type HostState,
  type HostStore,
  pauseMs,
  type SignInTrouble,
} from "./state.ts";
