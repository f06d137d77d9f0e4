//! Our tools as an MCP server for other agents, over standard input and output.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Map, Value};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use base::model::call::ToolSpec;

/// How often a client that requested progress is told that its call is still running.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

pub trait OfferedTools: Send + Sync + 'static {
    fn tools(&self) -> Vec<(ToolSpec, bool)>;

    fn call(
        &self,
        name: String,
        args: Map<String, Value>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<String, String>>;
}

struct Served<O>(Arc<O>);

pub async fn over_stdio(offer: impl OfferedTools) -> Result<(), String> {
    let transport = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout());
    let running = Served(Arc::new(offer)).serve(transport).await.map_err(|error| error.to_string())?;
    running.waiting().await.map(drop).map_err(|error| error.to_string())
}

impl<O: OfferedTools> ServerHandler for Served<O> {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("mycode", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |(spec, reads): (ToolSpec, bool)| {
            let schema = spec.schema.as_object().cloned().unwrap_or_default();
            let mut tool = Tool::new(spec.name.to_string(), spec.description.to_string(), schema);
            tool.annotations = Some(ToolAnnotations::new().read_only(reads));
            tool
        };
        Ok(ListToolsResult::with_all_items(self.0.tools().into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let token = request.meta.as_ref().and_then(|meta| meta.get_progress_token());
        let token = token.or_else(|| context.meta.get_progress_token());
        let args = request.arguments.unwrap_or_default();
        let call = self.0.call(request.name.into_owned(), args, context.ct.clone());
        tokio::pin!(call);
        let mut ticks = interval(SIGN_OF_LIFE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut count = 0.0;
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut call => break answer,
                _ = ticks.tick(), if token.is_some() => {
                    if let Some(token) = token.clone() {
                        let progress = ProgressNotificationParam::new(token, count);
                        let _ = context.peer.notify_progress(progress).await;
                        count += 1.0;
                    }
                }
            }
        };
        Ok(CallToolResponse::Complete(match answer {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        }))
    }
}
