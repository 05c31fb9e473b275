package pastes;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;

/** An item of the NoSQL API: the client for it reads and writes it by Jackson. */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonIgnoreProperties(ignoreUnknown = true)
public record Paste(String id, String author, String text, Integer ttl, @JsonProperty("_etag") String etag) {}
