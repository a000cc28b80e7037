export { WorkspaceQuestion, WorkspaceTrust } from "./workspace-trust.tsx";
