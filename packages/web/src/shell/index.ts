export { Away, Reaching, SignIn } from "./gate.tsx";
export { Shell } from "./shell.tsx";
