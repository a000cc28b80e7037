export { Frame } from "./frame.tsx";
export { Home } from "./home.tsx";
export { Loading } from "./loading.tsx";
export { SignIn } from "./sign-in.tsx";
export { Unreachable } from "./unreachable.tsx";
