import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;

/** Reads lines of base64 and prints what Jackson, as it comes, makes of each body. */
public class Judge {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        String version = com.fasterxml.jackson.databind.cfg.PackageVersion.VERSION.toString();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode seen = null;
            try {
                seen = mapper.readTree(Base64.getDecoder().decode(line));
            } catch (Exception error) {
                // the site answers 400
            }
            System.out.println(mapper.writeValueAsString(
                    mapper.createObjectNode().put("version", version).set("seen", seen)));
        }
    }
}
