export * from "./views.ts";
